// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: how often each n-gram of a pool occurs in a row. Strings are replaced by their
// numbers in the pool first.
#include <algorithm>
#include <map>

#include "ops/as_onnx.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/loops.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;
using ir::Expr;
using ir::Stmt;

enum class Weighting : uint8_t { Tf, Idf, TfIdf };

struct TfIdfAttrs {
  Weighting weighting = Weighting::Tf;
  int64_t skips = 0;  // the items of an n-gram may stand up to so many others apart
  int64_t size = 0;   // of a row of the result
  static constexpr auto fields =
      std::tuple{field("weighting", &TfIdfAttrs::weighting), field("skips", &TfIdfAttrs::skips),
                 field("size", &TfIdfAttrs::size)};
};

// Inputs: x [n, c] (i64), the items of all n-grams, and for each n-gram: where it starts among
// them, how long it is, its place in a row of the result, its weight.
enum Input : size_t { X, Pool, Start, Length, Place, Weight };

std::vector<Type> infer(const Call& call) {
  need_rank(call, X, 2);
  return {tensor_of(Elem::F32, {call.shape(X)[0], call.attrs<TfIdfAttrs>().size})};
}

ir::LoopFunc loops(const Call& call) {
  const TfIdfAttrs& attrs = call.attrs<TfIdfAttrs>();
  const LoopForm f(call, "tfidf", 1);
  const ir::Buffer& out = f.out(0);
  const Scalar count("count", Elem::I64), same("same", Elem::Bool);
  const Expr width = call.shape(X)[1];

  const auto of_row = [&](const Coords& v) {
    const auto gram = [&](const Expr& g) {
      const auto column = [&](Input i) { return ir::load(f.in(i), {g}); };
      const auto occurs_at = [&](const Expr& first, const Expr& distance) {
        const Stmt compare = each("k", column(Length), [&](const Expr& k) {
          const Expr item = ir::load(f.in(X), {v[0], first + k * distance});
          return when(ir::ne(item, ir::load(f.in(Pool), {column(Start) + k})),
                      same.set(ir::bool_imm(false)));
        });
        return when(first + (column(Length) - 1) * distance < width,
                    steps({same.set(ir::bool_imm(true)), compare, when(same.get(), count.add(1))}));
      };
      // Single items have no distance.
      const Expr distances = ir::select(ir::eq(column(Length), 1), Expr(1), Expr(attrs.skips + 1));
      const Stmt search = each("d", distances, [&](const Expr& d) {
        return each("first", width, [&](const Expr& first) { return occurs_at(first, d + 1); });
      });
      const Expr times = ir::cast(Elem::F32, count.get());
      const Expr value =
          attrs.weighting == Weighting::Tf ? times
          : attrs.weighting == Weighting::TfIdf
              ? times * column(Weight)
              : ir::select(count.get() > 0, column(Weight), ir::float_imm(Elem::F32, 0));
      return steps({count.set(0), search, let("place", column(Place), [&](const Expr& place) {
                      return store(out, {v[0], place}, ir::load(out, {v[0], place}) + value);
                    })});
    };
    return with({count, same}, steps({each("i", attrs.size,
                                           [&](const Expr& i) {
                                             return store(out, {v[0], i},
                                                          ir::float_imm(Elem::F32, 0));
                                           }),
                                      each("g", call.shape(Start)[0], gram)}));
  };
  return f.func(independent(
      "tfidf", {call.shape(X)[0]},
      [&](const Coords& v) {
        std::vector<ir::Region> reads{part(f.in(X), {v[0], Expr()}), part(out, {v[0], Expr()})};
        for (size_t i = Pool; i <= Weight; ++i) reads.push_back(whole(f.in(i)));
        return reads;
      },
      [&](const Coords& v) { return std::vector{part(out, {v[0], Expr()})}; }, of_row));
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const std::string mode = n.attr_string("mode", "TF");
  const int64_t shortest = n.attr_int("min_gram_length"), longest = n.attr_int("max_gram_length");
  const std::vector<int64_t> counts = n.attr_ints("ngram_counts"),
                             places = n.attr_ints("ngram_indexes");
  const std::vector<float> weights = n.attr_floats("weights");
  const std::vector<std::string> texts = n.attr_strings("pool_strings");
  std::vector<int64_t> pool = n.attr_ints("pool_int64s");

  // Equal texts get the number of the first of them.
  std::vector<std::string> distinct;
  if (!texts.empty()) {
    std::map<std::string, int64_t> numbers;
    for (const std::string& text : texts) {
      const auto [at, is_new] = numbers.emplace(text, static_cast<int64_t>(distinct.size()));
      if (is_new) distinct.push_back(text);
      pool.push_back(at->second);
    }
  }
  std::vector<int64_t> start, length, place;
  std::vector<double> weight;
  size_t gram = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const auto size = static_cast<int64_t>(k) + 1;
    const int64_t end = k + 1 < counts.size() ? counts[k + 1] : static_cast<int64_t>(pool.size());
    if (counts[k] < 0 || end > static_cast<int64_t>(pool.size()) || (end - counts[k]) % size != 0)
      n.refuse("ops.tfidf.pool", "ngram_counts does not fit the pool",
               "let entry k say where the n-grams of k + 1 items start");
    for (int64_t at = counts[k]; at < end; at += size, ++gram) {
      if (gram >= places.size() || places[gram] < 0)
        n.refuse("ops.tfidf.places", str("ngram_indexes has no place for n-gram ", gram),
                 "give a place for each n-gram of the pool");
      if (size < shortest || size > longest) continue;
      start.push_back(at);
      length.push_back(size);
      place.push_back(places[gram]);
      weight.push_back(gram < weights.size() ? weights[gram] : 1);
    }
  }
  ValueId x = n.need(0);
  const bool one_row = g.tensor(x).rank() == 1;
  if (!texts.empty()) {
    const auto count = static_cast<int64_t>(distinct.size());
    x = g.call(op("string_find"), {}, {x, g.constant(string_constant({count}, distinct))});
  }
  x = m.cast(x, Elem::I64);
  if (one_row) x = m.reshape(x, {1, -1});
  const TfIdfAttrs attrs{
      .weighting = mode == "TF"    ? Weighting::Tf
                   : mode == "IDF" ? Weighting::Idf
                                   : Weighting::TfIdf,
      .skips = n.attr_int("max_skip_count"),
      .size = places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1};
  const ValueId y = g.call(
      tfidf_op(), attrs,
      {x, g.ints(pool), g.ints(start), g.ints(length), g.ints(place),
       g.constant(float_constant(Elem::F32, {static_cast<int64_t>(weight.size())}, weight))});
  g.output(n, one_row ? m.reshape(y, {-1}) : y);
}

}  // namespace

const OpDef& tfidf_op() {
  static const OpDef def =
      define_op<TfIdfAttrs>({.name = "tfidf",
                             .infer = infer,
                             .loops = loops,
                             .onnx = {{.op = "TfIdfVectorizer", .from = 9, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
