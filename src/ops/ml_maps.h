// SPDX-License-Identifier: Apache-2.0
// Maps. The only operators that make or take them stand at the ends of a model, so a module has
// tensors in their place:
//
//   ZipMap           gives its input: a row for each map, a column for each key
//   DictVectorizer   takes a row with the value of each key of its vocabulary, 0 for missing ones
//
// The metadata `tilewright.map.NAME` lists the keys of input or output NAME as JSON, so that
// whoever calls the module can make maps of the rows; the Python package does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace tilewright::graph {
struct OnnxNode;
}

namespace tilewright::ops {

/// Numbers when there are no texts.
void describe_map(graph::Builder& g, const std::string& port, const std::vector<std::string>& texts,
                  const std::vector<int64_t>& numbers);

void zip_map(const graph::OnnxNode& n, graph::Builder& g);
void dict_vectorizer(const graph::OnnxNode& n, graph::Builder& g);

}  // namespace tilewright::ops
