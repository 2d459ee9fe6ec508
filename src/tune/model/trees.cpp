// SPDX-License-Identifier: Apache-2.0
#include "tune/model/trees.h"

#include <cmath>
#include <dlfcn.h>
#include <xgboost/c_api.h>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::tune {
namespace {

constexpr const char* kLibrary = "libxgboost.so.0";
constexpr int kRounds = 60;
// Few samples are sorted exactly; many are put into bins first.
constexpr size_t kExact = 2000;

/// The functions of the library that are used.
struct Api {
  decltype(&XGBGetLastError) last_error;
  decltype(&XGDMatrixCreateFromMat) matrix;
  decltype(&XGDMatrixFree) free_matrix;
  decltype(&XGDMatrixSetFloatInfo) set_floats;
  decltype(&XGDMatrixSetUIntInfo) set_numbers;
  decltype(&XGBoosterCreate) create;
  decltype(&XGBoosterFree) free_booster;
  decltype(&XGBoosterSetParam) set;
  decltype(&XGBoosterUpdateOneIter) update;
  decltype(&XGBoosterPredict) predict;

  void check(int status) const {
    if (status != 0) throw InternalError(str("XGBoost: ", last_error()));
  }
};

[[noreturn]] void no_library(const char* what) {
  throw Error({.code = "tune.model.library",
               .at = {},
               .message = str("cannot load ", kLibrary, ", which learns from measurements"),
               .notes = {what},
               .help = "install it (Debian: libxgboost0), or tune with the strategy `random`"});
}

const Api& api() {
  static const Api loaded = [] {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library) no_library(dlerror());
    Api out{};
    const auto find = [&](auto& function, const char* name) {
      void* found = dlsym(library, name);
      if (!found) no_library(name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(out.last_error, "XGBGetLastError");
    find(out.matrix, "XGDMatrixCreateFromMat");
    find(out.free_matrix, "XGDMatrixFree");
    find(out.set_floats, "XGDMatrixSetFloatInfo");
    find(out.set_numbers, "XGDMatrixSetUIntInfo");
    find(out.create, "XGBoosterCreate");
    find(out.free_booster, "XGBoosterFree");
    find(out.set, "XGBoosterSetParam");
    find(out.update, "XGBoosterUpdateOneIter");
    find(out.predict, "XGBoosterPredict");
    return out;
  }();
  return loaded;
}

class Matrix {
 public:
  explicit Matrix(std::span<const Features> rows) {
    api().check(api().matrix(rows[0].data(), rows.size(), kFeatures, NAN, &handle_));
  }
  ~Matrix() { api().free_matrix(handle_); }
  Matrix(const Matrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

struct Trees::Booster {
  BoosterHandle handle = nullptr;
  ~Booster() { api().free_booster(handle); }
};

std::string Trees::why_not() {
  try {
    api();
    return {};
  } catch (const Error& e) {
    return str(e.diagnostic.message, ": ", e.diagnostic.notes.at(0));
  }
}

Trees::Trees() = default;
Trees::~Trees() = default;
Trees::Trees(Trees&&) noexcept = default;
Trees& Trees::operator=(Trees&&) noexcept = default;

Trees Trees::fit(const RankedRows& data, int seed) {
  const Api& x = api();
  const Matrix matrix(data.rows);
  x.check(x.set_floats(matrix.handle(), "label", data.ranks.data(), data.ranks.size()));
  x.check(x.set_floats(matrix.handle(), "base_margin", data.margins.data(), data.margins.size()));
  x.check(x.set_numbers(matrix.handle(), "group", data.groups.data(), data.groups.size()));
  Trees out;
  out.booster_ = std::make_unique<Booster>();
  const DMatrixHandle known[] = {matrix.handle()};
  x.check(x.create(known, 1, &out.booster_->handle));
  const std::string number = std::to_string(seed);
  const std::pair<const char*, const char*> parameters[] = {
      {"objective", "rank:pairwise"},
      {"tree_method", data.rows.size() <= kExact ? "exact" : "hist"},
      {"max_depth", "6"},
      {"eta", "0.2"},
      {"min_child_weight", "0.1"},
      {"subsample", "0.8"},
      {"colsample_bytree", "0.5"},
      {"num_pairsample", "4"},
      {"base_score", "0"},
      {"nthread", "1"},
      {"seed", number.c_str()},
      {"verbosity", "0"}};
  for (const auto& [name, value] : parameters) x.check(x.set(out.booster_->handle, name, value));
  for (int round = 0; round < kRounds; ++round)
    x.check(x.update(out.booster_->handle, round, matrix.handle()));
  return out;
}

std::vector<float> Trees::ask(std::span<const Features> rows, int what) const {
  const Matrix matrix(rows);
  bst_ulong count = 0;
  const float* values = nullptr;
  api().check(api().predict(booster_->handle, matrix.handle(), what, 0, 0, &count, &values));
  return {values, values + count};
}

std::vector<float> Trees::predict(std::span<const Features> rows) const {
  constexpr int kMargin = 1;
  if (!booster_ || rows.empty()) return std::vector<float>(rows.size());
  return ask(rows, kMargin);
}

std::vector<float> Trees::leaves(std::span<const Features> rows) const {
  constexpr int kLeaf = 2;
  if (!booster_ || rows.empty()) return {};
  return ask(rows, kLeaf);
}

}  // namespace tilewright::tune
