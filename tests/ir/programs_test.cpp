// SPDX-License-Identifier: Apache-2.0
// The acceptance programs of tests/ir/programs: each is read, verified, checked and run in many
// orders against a plain reference; each broken twin `<name>.<what>.tw` is refused for the reason
// that its first line states.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

#include "ir/build.h"
#include "ir/check/check.h"
#include "ir/equal.h"
#include "ir/interpret/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

const std::filesystem::path kFolder = "tests/ir/programs";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

using Numbers = std::vector<double>;
/// Fills the outputs, given and returned as the parameters in order.
using Reference = std::function<void(std::vector<Numbers>& params)>;

struct Program {
  std::string name;
  Reference reference;
  double slack = 0;   // how far the program's rounding may lead from the reference in f64
  bool exact = true;  // does it equal its `definition` by the laws of a field?
  int orders = 24;    // in how many orders it is run
  std::vector<std::vector<int64_t>> sizes = {{}};              // values of the symbols
  std::function<void(std::vector<Array>&)> prepare = nullptr;  // changes the random inputs
};

const LoopFunc& function_of(const Unit& unit, const std::string& name) {
  for (const LoopFunc& f : unit.functions)
    if (f.name == name) return f;
  throw InternalError(str("no function `", name, "`"));
}

std::vector<Array> arguments(const Program& program, const LoopFunc& f,
                             const std::vector<int64_t>& symbols, Arithmetic arithmetic) {
  std::vector<Array> args;
  for (const Param& p : f.params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : p.buffer->shape) {
      const auto symbol = std::find_if(f.symbols.begin(), f.symbols.end(),
                                       [&](const Symbol& s) { return s.var == extent; });
      shape.push_back(symbol == f.symbols.end() ? const_int(extent).value()
                                                : symbols[symbol - f.symbols.begin()]);
    }
    args.push_back(p.access == Access::Out
                       ? make_array(p.buffer->elem, shape, arithmetic)
                       : random_array(p.buffer->elem, shape, 7 + args.size(), arithmetic));
  }
  if (program.prepare) program.prepare(args);
  return args;
}

std::vector<Numbers> numbers_of(const std::vector<Array>& args) {
  std::vector<Numbers> all;
  for (const Array& a : args) {
    all.emplace_back();
    for (int64_t i = 0; i < a.size(); ++i) all.back().push_back(a.as_double(i));
  }
  return all;
}

void run_against_reference(const Program& program, const LoopFunc& f,
                           const std::vector<int64_t>& symbols) {
  const std::vector<Array> given = arguments(program, f, symbols, Arithmetic::Ieee);
  std::vector<Numbers> want = numbers_of(given);
  program.reference(want);
  std::vector<Array> first;
  for (int seed = 0; seed < program.orders; ++seed) {
    std::vector<Array> args = given;
    interpret(f, args, symbols, {.seed = static_cast<uint64_t>(seed)});
    for (size_t p = 0; p < args.size(); ++p) {
      if (seed > 0) {
        EXPECT_TRUE(same_bits(args[p], first[p])) << "order " << seed << " gives other bits";
      }
      for (int64_t i = 0; seed == 0 && i < args[p].size(); ++i)
        ASSERT_LE(std::abs(args[p].as_double(i) - want[p][i]), program.slack)
            << f.params[p].buffer->name << " at " << i << ": " << args[p].as_double(i) << " for "
            << want[p][i];
    }
    if (seed == 0) first = std::move(args);
  }
}

void run_against_definition(const Program& program, const Unit& unit,
                            const std::vector<int64_t>& symbols) {
  const LoopFunc& f = function_of(unit, program.name);
  const LoopFunc& definition = function_of(unit, "definition");
  std::vector<Array> args = arguments(program, f, symbols, Arithmetic::Exact), want = args;
  interpret(f, args, symbols, {.arithmetic = Arithmetic::Exact, .seed = 3});
  interpret(definition, want, symbols, {.arithmetic = Arithmetic::Exact});
  for (size_t p = 0; p < args.size(); ++p)
    EXPECT_TRUE(same_bits(args[p], want[p])) << f.params[p].buffer->name;
}

void test_program(const Program& program) {
  const std::string text = text_of(kFolder / (program.name + ".tw"));
  ASSERT_FALSE(text.empty());
  const Unit unit = parse(text, program.name + ".tw");
  EXPECT_TRUE(equal(unit, parse(print(unit), "printed")));
  verify(unit);
  const LoopFunc& f = function_of(unit, program.name);
  const CheckReport report = check_concurrency(f);
  EXPECT_TRUE(report.proved) << report.summary;
  for (const std::vector<int64_t>& symbols : program.sizes) {
    SCOPED_TRACE(testing::PrintToString(symbols));
    run_against_reference(program, f, symbols);
    if (program.exact) run_against_definition(program, unit, symbols);
  }
}

TEST(Programs, GemmWgmma) {
  test_program({.name = "gemm_wgmma",
                .reference =
                    [](std::vector<Numbers>& p) {
                      for (int i = 0; i < 128; ++i) {
                        for (int j = 0; j < 16; ++j) {
                          double sum = p[2][j];
                          for (int k = 0; k < 320; ++k) sum += p[0][i * 320 + k] * p[1][k * 16 + j];
                          p[3][i * 16 + j] = std::max(sum, 0.0);
                        }
                      }
                    },
                .slack = 1e-3,
                .orders = 3});
}

void multiply(std::vector<Numbers>& p) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      p[2][i * 16 + j] = 0;
      for (int k = 0; k < 64; ++k) p[2][i * 16 + j] += p[0][i * 64 + k] * p[1][k * 16 + j];
    }
  }
}

TEST(Programs, GemmSplitK) {
  test_program({.name = "gemm_split_k", .reference = multiply, .slack = 1e-4});
}

TEST(Programs, GemmSplitKPush) {
  test_program({.name = "gemm_split_k_push", .reference = multiply, .slack = 1e-4});
}

TEST(Programs, Attention) {
  // The running maximum and sum are an identity of exp, not of a field.
  test_program({.name = "attention",
                .reference =
                    [](std::vector<Numbers>& p) {
                      for (int h = 0; h < 2; ++h) {
                        for (int row = 0; row < 16; ++row) {
                          double s[20], total = 0;
                          double top = -std::numeric_limits<double>::infinity();
                          for (int c = 0; c < 20; ++c) {
                            s[c] = 0;
                            for (int d = 0; d < 8; ++d)
                              s[c] += p[0][(h * 16 + row) * 8 + d] * p[1][(h * 20 + c) * 8 + d];
                            top = std::max(top, s[c]);
                          }
                          for (double& v : s) total += v = std::exp(v - top);
                          for (int d = 0; d < 8; ++d) {
                            double o = 0;
                            for (int c = 0; c < 20; ++c) o += s[c] * p[2][(h * 20 + c) * 8 + d];
                            p[3][(h * 16 + row) * 8 + d] = o / total;
                          }
                        }
                      }
                    },
                .slack = 1e-5,
                .exact = false});
}

TEST(Programs, LstmPersistent) {
  test_program({.name = "lstm_persistent",
                .reference =
                    [](std::vector<Numbers>& p) {
                      const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
                      Numbers hidden(8, 0.0), cell(8, 0.0);
                      for (int s = 0; s < 5; ++s) {
                        double z[4][8];
                        for (int g = 0; g < 4; ++g) {
                          for (int u = 0; u < 8; ++u) {
                            const double* w = &p[1][(g * 8 + u) * 12];
                            z[g][u] = p[2][g * 8 + u];
                            for (int i = 0; i < 4; ++i) z[g][u] += w[i] * p[0][s * 4 + i];
                            for (int i = 0; i < 8; ++i) z[g][u] += w[4 + i] * hidden[i];
                          }
                        }
                        for (int u = 0; u < 8; ++u) {
                          cell[u] =
                              sigmoid(z[1][u]) * cell[u] + sigmoid(z[0][u]) * std::tanh(z[2][u]);
                          hidden[u] = sigmoid(z[3][u]) * std::tanh(cell[u]);
                          p[3][s * 8 + u] = hidden[u];
                        }
                      }
                    },
                .slack = 1e-4});
}

TEST(Programs, ConvVdla) {
  test_program({.name = "conv_vdla", .reference = [](std::vector<Numbers>& p) {
                  for (int co = 0; co < 2; ++co) {
                    for (int y = 0; y < 4; ++y) {
                      for (int x = 0; x < 4; ++x) {
                        for (int o = 0; o < 4; ++o) {
                          double sum = 0;
                          for (int ci = 0; ci < 2; ++ci)
                            for (int ky = 0; ky < 3; ++ky)
                              for (int kx = 0; kx < 3; ++kx)
                                for (int i = 0; i < 4; ++i)
                                  sum +=
                                      p[0][((ci * 6 + y + ky) * 6 + x + kx) * 4 + i] *
                                      p[1][((((co * 2 + ci) * 3 + ky) * 3 + kx) * 4 + o) * 4 + i];
                          p[2][((co * 4 + y) * 4 + x) * 4 + o] =
                              std::clamp(std::floor((sum + 8) / 16), -128.0, 127.0);
                        }
                      }
                    }
                  }
                }});
}

TEST(Programs, TopK) {
  test_program({.name = "top_k",
                .reference =
                    [](std::vector<Numbers>& p) {
                      for (int r = 0; r < 6; ++r) {
                        const double* row = &p[0][r * 16];
                        std::vector<int> order(16);
                        for (int c = 0; c < 16; ++c) order[c] = c;
                        std::sort(order.begin(), order.end(), [&](int a, int b) {
                          return row[a] > row[b] || (row[a] == row[b] && a < b);
                        });
                        for (int k = 0; k < 3; ++k) {
                          p[1][r * 3 + k] = row[order[k]];
                          p[2][r * 3 + k] = order[k];
                        }
                      }
                    },
                .prepare = [](std::vector<Array>& args) {  // many equal elements
                  for (int64_t i = 0; i < args[0].size(); ++i)
                    args[0].set(i, static_cast<double>(i * 7 % 11 % 5));
                }});
}

TEST(Programs, LayerNorm) {
  test_program({.name = "layer_norm",
                .reference =
                    [](std::vector<Numbers>& p) {
                      for (size_t r = 0; r < p[0].size() / 64; ++r) {
                        const double* x = &p[0][r * 64];
                        double mean = 0, spread = 0;
                        for (int c = 0; c < 64; ++c) mean += x[c] / 64;
                        for (int c = 0; c < 64; ++c) spread += (x[c] - mean) * (x[c] - mean) / 64;
                        for (int c = 0; c < 64; ++c)
                          p[3][r * 64 + c] =
                              (x[c] - mean) / std::sqrt(spread + 0.0009765625) * p[1][c] + p[2][c];
                      }
                    },
                .slack = 1e-5,
                .sizes = {{0}, {1}, {2}, {7}, {8}}});
}

struct Twin {
  std::string file, code, phrase;
};
void PrintTo(const Twin& twin, std::ostream* out) { *out << twin.file; }

/// `// expect CODE: PHRASE` on the first line.
std::vector<Twin> twins() {
  std::vector<Twin> all;
  std::error_code missing;  // not run from the root: the tests of the programs say so
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, missing)) {
    const std::string file = entry.path().filename().string();
    const std::string text = text_of(entry.path());
    const std::string line = text.substr(0, text.find('\n')), mark = "// expect ";
    const size_t colon = line.find(": ");
    if (line.rfind(mark, 0) != 0 || colon == std::string::npos) continue;
    all.push_back({file, line.substr(mark.size(), colon - mark.size()), line.substr(colon + 2)});
  }
  std::sort(all.begin(), all.end(), [](const Twin& a, const Twin& b) { return a.file < b.file; });
  return all;
}

class BrokenTwin : public testing::TestWithParam<Twin> {};

TEST_P(BrokenTwin, IsRefused) {
  const Twin& twin = GetParam();
  Unit unit;
  ASSERT_NO_THROW(unit = parse(text_of(kFolder / twin.file), twin.file));
  try {
    verify(unit);
    check_concurrency(unit.functions.back());
    FAIL() << "verifier and checker accept it";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, twin.code) << e.what();
    std::string told = e.diagnostic.message;
    for (const std::string& note : e.diagnostic.notes) told += "\n" + note;
    EXPECT_NE(told.find(twin.phrase), std::string::npos) << e.what();
    EXPECT_GT(e.diagnostic.at.line, 1) << e.what();
    EXPECT_FALSE(e.diagnostic.help.empty());
  }
}

std::string test_name(const testing::TestParamInfo<Twin>& info) {
  std::string name = info.param.file.substr(0, info.param.file.size() - 3);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Programs, BrokenTwin, testing::ValuesIn(twins()), test_name);

TEST(Programs, EachHasABrokenTwin) {
  std::vector<Twin> all = twins();
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string stem = entry.path().stem().string();
    if (stem.find('.') != std::string::npos) continue;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Twin& twin) {
      return twin.file.rfind(stem + ".", 0) == 0;
    })) << stem;
  }
}

}  // namespace
}  // namespace tilewright::ir
