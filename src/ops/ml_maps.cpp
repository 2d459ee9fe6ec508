// SPDX-License-Identifier: Apache-2.0
#include "ops/ml_maps.h"

#include <nlohmann/json.hpp>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "support/str.h"

namespace tilewright::ops {

using namespace graph;

namespace {

std::string keys_text(const std::vector<std::string>& texts, const std::vector<int64_t>& numbers) {
  const nlohmann::json keys = texts.empty() ? nlohmann::json(numbers) : nlohmann::json(texts);
  // Bytes that are no UTF-8 would be an exception.
  return keys.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string metadata_key(const std::string& port) { return str("tilewright.map.", port); }

}  // namespace

void describe_map(Builder& g, const std::string& port, const std::vector<std::string>& texts,
                  const std::vector<int64_t>& numbers) {
  g.graph().metadata[metadata_key(port)] = keys_text(texts, numbers);
}

void zip_map(const OnnxNode& n, Builder& g) {
  const Make m{n, g};
  const std::vector<std::string> texts = n.attr_strings("classlabels_strings");
  const std::vector<int64_t> numbers = n.attr_ints("classlabels_int64s");
  const auto keys = static_cast<int64_t>(texts.empty() ? numbers.size() : texts.size());
  const int rank = g.tensor(n.need(0)).rank();
  if (rank < 1 || rank > 2 || texts.empty() == numbers.empty())
    n.refuse("ops.zip_map.keys",
             str("there are ", texts.size(), " texts and ", numbers.size(), " numbers as keys of ",
                 print(g.type(n.in(0)))),
             "give keys of one kind, one for each column of a matrix");
  describe_map(g, n.outputs.at(0), texts, numbers);
  g.output(n, m.reshape(n.in(0), {rank == 1 ? 1 : 0, keys}));
}

void dict_vectorizer(const OnnxNode& n, Builder& g) {
  const std::string keys =
      keys_text(n.attr_strings("string_vocabulary"), n.attr_ints("int64_vocabulary"));
  const auto described = g.graph().metadata.find(metadata_key(g.value(n.need(0)).name));
  if (described == g.graph().metadata.end() || described->second != keys)
    n.refuse("ops.dict_vectorizer.map", "its input is no map, or another vocabulary's",
             "give it an input of the model, and every DictVectorizer of one the same vocabulary");
  g.output(n, n.in(0));
}

}  // namespace tilewright::ops
