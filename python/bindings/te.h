// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "te/te.h"

namespace tilewright::python {

// What python/tilewright/te.py is made of.
void bind_expressions(nanobind::module_& m);  // Expr, Tensor and their functions
void bind_programs(nanobind::module_& m);     // reductions, stages, Program

/// A tuple or a list?
bool is_list(const nanobind::handle& object);
/// The element type of a short name such as f32.
ir::Elem elem_of(const std::string& name);
/// A tuple or list of expressions, or one; a number is one too.
/// `what` names it in errors.
te::Tuple exprs_of(const nanobind::handle& object, const std::string& what);
/// A tuple or list of tensors, or one.
std::vector<te::Tensor> tensors_of(const nanobind::handle& object);

}  // namespace tilewright::python
