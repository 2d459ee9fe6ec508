// SPDX-License-Identifier: Apache-2.0
#include "runtime/image_decoder.h"

#include <atomic>
#include <dlfcn.h>

// Where a program is linked statically there may be none. What else is needed is asked of it: a
// static program that names dlopen itself is warned of when it is linked.
#pragma weak dlsym

namespace tilewright::runtime {
namespace {

std::atomic<tw_image_decoder> given{nullptr};
std::atomic<tw_image_decoder> loaded{nullptr};

template <class Function>
Function* linker_function(const char* name) {
  if (&dlsym == nullptr) return nullptr;
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

tw_image_decoder given_image_decoder() { return given.load(std::memory_order_acquire); }

tw_image_decoder plugin_image_decoder(ErrorText& why) {
  if (const tw_image_decoder decoder = loaded.load(std::memory_order_acquire)) return decoder;
  auto* const open = linker_function<void*(const char*, int)>("dlopen");
  auto* const error = linker_function<char*()>("dlerror");
  if (open == nullptr || error == nullptr) {
    why.set("this program is linked without dlopen");
    return nullptr;
  }
  // Threads that come here together get the same library.
  void* library = open(kImagePlugin, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, "tw_decode_image");
  if (symbol == nullptr) {
    const char* text = error();
    why.set("%s", text == nullptr ? "it has no decoder" : text);
    return nullptr;
  }
  const auto decoder = reinterpret_cast<tw_image_decoder>(symbol);
  loaded.store(decoder, std::memory_order_release);
  return decoder;
}

}  // namespace tilewright::runtime

extern "C" void tw_set_image_decoder(tw_image_decoder decoder) {
  tilewright::runtime::given.store(decoder, std::memory_order_release);
}
