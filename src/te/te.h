// SPDX-License-Identifier: Apache-2.0
// All of the tensor expressions.
#pragma once

#include "te/compute.h"
#include "te/elementwise.h"
#include "te/expr.h"
#include "te/math.h"
#include "te/parse.h"
#include "te/print.h"
#include "te/program.h"
#include "te/reduce.h"
#include "te/scan.h"
#include "te/tensor.h"
