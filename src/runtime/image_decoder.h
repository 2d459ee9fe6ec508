// SPDX-License-Identifier: Apache-2.0
// Who decodes images of the formats that the runtime does not read itself.
#pragma once

#include "support/bare/error_text.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

constexpr const char* kImagePlugin = "libtilewright_images.so.0";

/// What tw_set_image_decoder was given, or nullptr.
tw_image_decoder given_image_decoder();
/// That of the plug-in, which is loaded and stays; nullptr when it cannot be, and `why` says why.
tw_image_decoder plugin_image_decoder(ErrorText& why);

}  // namespace tilewright::runtime
