// SPDX-License-Identifier: Apache-2.0
// The operators by name, for import rules and passes that make calls of them.
#pragma once

#include <span>

#include "graph/op_def.h"

namespace tilewright::ops {

/// How windows of convolutions and pools are padded: by `pads`, or so that the result has the
/// input's extent over the stride.
enum class AutoPad : uint8_t { NotSet, SameUpper, SameLower, Valid };

/// The operator of this name, which must be there: `op("add")`.
const graph::OpDef& op(std::string_view name);

// Attributes that several operators have.
struct AxisAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{graph::field("axis", &AxisAttrs::axis)};
};
struct AxesAttrs {
  std::vector<int64_t> axes = {};
  static constexpr auto fields = std::tuple{graph::field("axes", &AxesAttrs::axes)};
};

// One line per operator or family, in alphabetical order of the files.
struct ActivationAttrs {
  double alpha = 0, beta = 0;
  static constexpr auto fields = std::tuple{graph::field("alpha", &ActivationAttrs::alpha),
                                            graph::field("beta", &ActivationAttrs::beta)};
};
struct IsInfAttrs {
  bool positive = true, negative = true;
  static constexpr auto fields = std::tuple{graph::field("positive", &IsInfAttrs::positive),
                                            graph::field("negative", &IsInfAttrs::negative)};
};
std::span<const graph::OpDef> activation_ops();

std::span<const graph::OpDef> arg_reduce_ops();  // arg_max, arg_min

std::span<const graph::OpDef> binary_ops();  // add, sub, mul, … of two tensors, broadcast

struct BatchNormAttrs {
  double epsilon = 1e-5, momentum = 0.9;
  bool per_element = false;  // parameters have the shape of the input without its first dimension
  static constexpr auto fields =
      std::tuple{graph::field("epsilon", &BatchNormAttrs::epsilon),
                 graph::field("momentum", &BatchNormAttrs::momentum),
                 graph::field("per_element", &BatchNormAttrs::per_element)};
};
/// (X, scale, bias, mean, variance)
const graph::OpDef& batch_norm_op();
/// The same with the batch's own statistics; results: Y, running mean and variance, those of the
/// batch.
const graph::OpDef& batch_norm_training_op();

struct ConvAttrs {
  int64_t group = 1;
  AutoPad auto_pad = AutoPad::NotSet;
  std::vector<int64_t> kernel = {}, strides = {}, dilations = {}, pads = {};
  static constexpr auto fields = std::tuple{graph::field("group", &ConvAttrs::group),
                                            graph::field("auto_pad", &ConvAttrs::auto_pad),
                                            graph::field("kernel", &ConvAttrs::kernel),
                                            graph::field("strides", &ConvAttrs::strides),
                                            graph::field("dilations", &ConvAttrs::dilations),
                                            graph::field("pads", &ConvAttrs::pads)};
};
/// (X, W[, bias])
const graph::OpDef& conv_op();
/// (X, W[, X's zero point, W's]): i32.
const graph::OpDef& conv_integer_op();

struct ConvTransposeAttrs {
  int64_t group = 1;
  AutoPad auto_pad = AutoPad::NotSet;
  std::vector<int64_t> kernel = {}, strides = {}, dilations = {}, pads = {};
  std::vector<int64_t> output_padding = {}, output_shape = {};
  static constexpr auto fields =
      std::tuple{graph::field("group", &ConvTransposeAttrs::group),
                 graph::field("auto_pad", &ConvTransposeAttrs::auto_pad),
                 graph::field("kernel", &ConvTransposeAttrs::kernel),
                 graph::field("strides", &ConvTransposeAttrs::strides),
                 graph::field("dilations", &ConvTransposeAttrs::dilations),
                 graph::field("pads", &ConvTransposeAttrs::pads),
                 graph::field("output_padding", &ConvTransposeAttrs::output_padding),
                 graph::field("output_shape", &ConvTransposeAttrs::output_shape)};
};
/// (X, W[, bias])
const graph::OpDef& conv_transpose_op();

enum class PowerRounding : uint8_t { Up, Down, Nearest };
struct CastAttrs {
  ir::Elem to = ir::Elem::F32;
  bool saturate = true;                        // to the range of 8-bit floats
  PowerRounding rounding = PowerRounding::Up;  // to f8e8m0
  static constexpr auto fields =
      std::tuple{graph::field("to", &CastAttrs::to), graph::field("saturate", &CastAttrs::saturate),
                 graph::field("rounding", &CastAttrs::rounding)};
};
std::span<const graph::OpDef> cast_ops();  // bitcast, cast

struct SplitAttrs {
  int64_t axis = 0;
  int64_t outputs = 1;
  static constexpr auto fields = std::tuple{graph::field("axis", &SplitAttrs::axis),
                                            graph::field("outputs", &SplitAttrs::outputs)};
};
std::span<const graph::OpDef> concat_ops();  // concat, split

struct DropoutAttrs {
  int64_t seed = 0;
  static constexpr auto fields = std::tuple{graph::field("seed", &DropoutAttrs::seed)};
};
const graph::OpDef& dropout_op();

std::span<const graph::OpDef> cumulative_ops();  // cum_prod, cum_sum

const graph::OpDef& col2im_op();

const graph::OpDef& causal_conv_op();

const graph::OpDef& deform_conv_op();

std::span<const graph::OpDef> grid_ops();  // affine_grid, grid_sample

const graph::OpDef& max_unpool_op();

std::span<const graph::OpDef> roi_ops();  // max_roi_pool, roi_align

const graph::OpDef& nll_loss_op();

std::span<const graph::OpDef> optimizer_ops();  // adagrad_step, adam_step, momentum_step

std::span<const graph::OpDef> fourier_ops();  // dft, stft

std::span<const graph::OpDef> signal_ops();  // windows, mel_weights

std::span<const graph::OpDef> attention_ops();  // attention_scores, …

const graph::OpDef& det_op();

const graph::OpDef& linear_attention_op();

const graph::OpDef& rotary_embedding_op();

const graph::OpDef& einsum_op();

const graph::OpDef& lrn_op();

struct GatherNdAttrs {
  int64_t batch_dims = 0;
  static constexpr auto fields = std::tuple{graph::field("batch_dims", &GatherNdAttrs::batch_dims)};
};
std::span<const graph::OpDef> gather_ops();  // gather, gather_elements, gather_nd

struct MatMulAttrs {
  bool trans_a = false, trans_b = false;  // of the last two dimensions
  double alpha = 1, beta = 1;
  static constexpr auto fields = std::tuple{graph::field("trans_a", &MatMulAttrs::trans_a),
                                            graph::field("trans_b", &MatMulAttrs::trans_b),
                                            graph::field("alpha", &MatMulAttrs::alpha),
                                            graph::field("beta", &MatMulAttrs::beta)};
};
/// (A, B[, C]): alpha * A B + beta * C.
const graph::OpDef& matmul_op();
/// (A, B[, A's zero point, B's]): i32.
const graph::OpDef& matmul_integer_op();

const graph::OpDef& one_hot_op();

enum class PadMode : uint8_t { Constant, Reflect, Edge, Wrap };
struct PadAttrs {
  PadMode mode = PadMode::Constant;
  static constexpr auto fields = std::tuple{graph::field("mode", &PadAttrs::mode)};
};
std::span<const graph::OpDef> pad_ops();  // center_crop_pad, pad

const graph::OpDef& pow_op();
std::span<const graph::OpDef> non_max_suppression_ops();

std::span<const graph::OpDef> nonzero_ops();

struct PrefixAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{graph::field("axis", &PrefixAttrs::axis)};
};
/// (x, n): the first n indices of the axis.
const graph::OpDef& prefix_op();

/// A loop as one kernel.
const graph::OpDef& recurrence_op();

/// extent (x): of an axis, as i64[]; arrange (x): what was stacked, along another axis.
std::span<const graph::OpDef> scan_ops();

std::span<const graph::OpDef> scatter_ops();

std::span<const graph::OpDef> range_ops();  // range, range_count

struct BlockAttrs {
  int64_t block = 1;
  bool depth_first = true;
  static constexpr auto fields = std::tuple{graph::field("block", &BlockAttrs::block),
                                            graph::field("depth_first", &BlockAttrs::depth_first)};
};
struct ReverseAttrs {
  int64_t time = 0;
  int64_t batch = 1;
  static constexpr auto fields = std::tuple{graph::field("time", &ReverseAttrs::time),
                                            graph::field("batch", &ReverseAttrs::batch)};
};
struct TriluAttrs {
  bool upper = true;
  static constexpr auto fields = std::tuple{graph::field("upper", &TriluAttrs::upper)};
};
std::span<const graph::OpDef> rearrange_ops();  // transpose, expand, tile, …
const graph::OpDef& repeat_op();

std::span<const graph::OpDef> sequence_ops();  // and optionals

std::span<const graph::OpDef> select_ops();  // clip, prelu, where
struct NormAttrs {
  int64_t axis = -1;               // layer, rms: the first of the normalised dimensions
  std::vector<int64_t> axes = {};  // mean_variance, lp
  double epsilon = 1e-5;
  int64_t groups = 0;              // group: 0 is one for each channel
  bool per_group = false;          // group: the parameters have a value per group
  double p = 2;                    // lp
  ir::Elem stash = ir::Elem::F32;  // layer: the type of mean and inverse deviation
  static constexpr auto fields = std::tuple{
      graph::field("axis", &NormAttrs::axis),           graph::field("axes", &NormAttrs::axes),
      graph::field("epsilon", &NormAttrs::epsilon),     graph::field("groups", &NormAttrs::groups),
      graph::field("per_group", &NormAttrs::per_group), graph::field("p", &NormAttrs::p),
      graph::field("stash", &NormAttrs::stash)};
};
/// (X, scale, bias)
const graph::OpDef& group_norm_op();
/// (X, scale[, bias]); results: Y, mean, inverse deviation.
const graph::OpDef& layer_norm_op();
const graph::OpDef& lp_norm_op();
const graph::OpDef& mean_variance_norm_op();
/// (X, scale)
const graph::OpDef& rms_norm_op();

struct PoolAttrs {
  AutoPad auto_pad = AutoPad::NotSet;
  bool ceil_mode = false;
  std::vector<int64_t> kernel = {}, strides = {}, dilations = {}, pads = {};
  bool count_pads = false;    // average
  int64_t storage_order = 0;  // of the maxima's indices; 1: column-major
  double p = 2;               // of the norm
  static constexpr auto fields =
      std::tuple{graph::field("auto_pad", &PoolAttrs::auto_pad),
                 graph::field("ceil_mode", &PoolAttrs::ceil_mode),
                 graph::field("kernel", &PoolAttrs::kernel),
                 graph::field("strides", &PoolAttrs::strides),
                 graph::field("dilations", &PoolAttrs::dilations),
                 graph::field("pads", &PoolAttrs::pads),
                 graph::field("count_pads", &PoolAttrs::count_pads),
                 graph::field("storage_order", &PoolAttrs::storage_order),
                 graph::field("p", &PoolAttrs::p)};
};
const graph::OpDef& average_pool_op();
const graph::OpDef& lp_pool_op();
const graph::OpDef& max_pool_op();
/// Two results: the maxima, and their places in X.
const graph::OpDef& max_pool_indices_op();

enum class Direction : uint8_t { Forward, Reverse, Both };
struct RecurrentAttrs {
  Direction direction = Direction::Forward;
  std::vector<std::string> activations = {};  // of each direction, in lower case
  std::vector<double> alpha = {}, beta = {};  // one each for every activation
  double clip = 0;                            // of what activations are given; 0: none
  int64_t layout = 0;                         // 1: the batch comes first
  bool linear_before_reset = false;           // gru
  bool input_forget = false;                  // lstm
  static constexpr auto fields =
      std::tuple{graph::field("direction", &RecurrentAttrs::direction),
                 graph::field("activations", &RecurrentAttrs::activations),
                 graph::field("alpha", &RecurrentAttrs::alpha),
                 graph::field("beta", &RecurrentAttrs::beta),
                 graph::field("clip", &RecurrentAttrs::clip),
                 graph::field("layout", &RecurrentAttrs::layout),
                 graph::field("linear_before_reset", &RecurrentAttrs::linear_before_reset),
                 graph::field("input_forget", &RecurrentAttrs::input_forget)};
};
/// rnn, gru, lstm of (X, W, R[, biases, lengths, initial h, initial c, peepholes[, scales and zero
/// points of R in bytes: [directions, rows]]]); results: all states, the last ones. Without W, X is
/// the products: [times, batch, directions * rows].
std::span<const graph::OpDef> recurrent_ops();

struct ReduceAttrs {
  std::vector<int64_t> axes = {};  // unless there is an input 1; none: all
  bool keepdims = true;
  bool noop = false;  // without axes nothing is reduced
  double p = 2;       // of reduce_lp
  static constexpr auto fields = std::tuple{
      graph::field("axes", &ReduceAttrs::axes), graph::field("keepdims", &ReduceAttrs::keepdims),
      graph::field("noop", &ReduceAttrs::noop), graph::field("p", &ReduceAttrs::p)};
};
std::span<const graph::OpDef> reduce_ops();
/// One of them: "reduce_sum", "reduce_mean", "reduce_lp", …

/// (x, n): the first n indices of the axis.
struct EyeLikeAttrs {
  ir::Elem elem = ir::Elem::F32;
  int64_t k = 0;
  static constexpr auto fields =
      std::tuple{graph::field("elem", &EyeLikeAttrs::elem), graph::field("k", &EyeLikeAttrs::k)};
};
struct ShapeAttrs {
  int64_t start = 0;
  int64_t end = INT64_MAX;
  static constexpr auto fields =
      std::tuple{graph::field("start", &ShapeAttrs::start), graph::field("end", &ShapeAttrs::end)};
};
std::span<const graph::OpDef> shape_ops();  // eye_like, full, shape, size

const graph::OpDef& slice_op();

enum class ResizeMode : uint8_t { Nearest, Linear, Cubic };
enum class NearestMode : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
enum class Coordinates : uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  HalfPixelForNearest,
  AlignCorners,
  Asymmetric,
  CropAndResize,
};
struct ResizeAttrs {
  ResizeMode mode = ResizeMode::Nearest;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  Coordinates coordinates = Coordinates::HalfPixel;
  bool antialias = false, exclude_outside = false;
  /// align_corners: an axis that shrinks by a scale counts as long as its width times the scale,
  /// not rounded down, as in ONNX's own cases since opset 19. Otherwise the corners are aligned.
  bool fractional_corners = false;
  double cubic_a = -0.75, extrapolation = 0;
  std::vector<int64_t> axes = {};   // the only ones that change; empty: all may
  std::vector<double> scales = {};  // one per dimension, where they are known
  static constexpr auto fields =
      std::tuple{graph::field("mode", &ResizeAttrs::mode),
                 graph::field("nearest", &ResizeAttrs::nearest),
                 graph::field("coordinates", &ResizeAttrs::coordinates),
                 graph::field("antialias", &ResizeAttrs::antialias),
                 graph::field("exclude_outside", &ResizeAttrs::exclude_outside),
                 graph::field("fractional_corners", &ResizeAttrs::fractional_corners),
                 graph::field("cubic_a", &ResizeAttrs::cubic_a),
                 graph::field("extrapolation", &ResizeAttrs::extrapolation),
                 graph::field("axes", &ResizeAttrs::axes),
                 graph::field("scales", &ResizeAttrs::scales)};
};
/// (X, sizes[, scales, region of interest]); without scales, they are the quotients of the sizes.
const graph::OpDef& resize_nearest_op();
const graph::OpDef& resize_interpolated_op();

enum class AspectPolicy : uint8_t { Stretch, NotLarger, NotSmaller };
struct ResizeSizesAttrs {
  std::vector<int64_t> axes = {};  // what input 1 is about; empty: all
  AspectPolicy policy = AspectPolicy::Stretch;
  static constexpr auto fields = std::tuple{graph::field("axes", &ResizeSizesAttrs::axes),
                                            graph::field("policy", &ResizeSizesAttrs::policy)};
};
/// (X, scales or sizes); results: the size of every dimension, and its scale (f64).
const graph::OpDef& resize_sizes_op();

struct SoftmaxAttrs {
  int64_t axis = -1;
  bool flattened = false;  // along all dimensions from the axis on together
  static constexpr auto fields = std::tuple{graph::field("axis", &SoftmaxAttrs::axis),
                                            graph::field("flattened", &SoftmaxAttrs::flattened)};
};
/// softmax, log_softmax, hardmax
std::span<const graph::OpDef> softmax_ops();
const graph::OpDef& softmax_op();

const graph::OpDef& top_k_op();

std::span<const graph::OpDef> unary_ops();  // exp, sqrt, relu, … of one tensor

struct ReshapeAttrs {
  bool allowzero = false;
  static constexpr auto fields = std::tuple{graph::field("allowzero", &ReshapeAttrs::allowzero)};
};
const graph::OpDef& image_decoder_op();

std::span<const graph::OpDef> random_ops();

const graph::OpDef& tfidf_op();

std::span<const graph::OpDef> unique_ops();

const graph::OpDef& check_indices_op();

std::span<const graph::OpDef> view_ops();  // flatten, identity, reshape, squeeze, unsqueeze

}  // namespace tilewright::ops
