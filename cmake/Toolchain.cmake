# Compiler, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Line tables are enough for a stack trace and halve the size of the objects.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

find_program(TW_CCACHE ccache)
if(TW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TW_CCACHE})
  # ccache takes precompiled headers into account only when told so.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TW_CCACHE})
endif()

# What ccache needs to know a file again that was compiled with precompiled headers.
function(tw_precompiled_options name)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Xclang;-fno-pch-timestamp>)
endfunction()

# Most of the time to compile one file goes into reading these headers.
function(tw_precompile name)
  if(TILEWRIGHT_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE <algorithm> <functional> <map> <memory> <optional> <set> <sstream>
      <string> <unordered_map> <unordered_set> <variant> <vector> ${ARGN})
    tw_precompiled_options(${name})
  endif()
endfunction()

# The headers of another target whose options are the same.
function(tw_precompile_as name other)
  if(TILEWRIGHT_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${other})
    tw_precompiled_options(${name})
  endif()
endfunction()

# Designated initialisers leave members out on purpose.
add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 in optimised code: PR 105651, PR 105562, PR 107852.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fcolor-diagnostics)
  # The standard library silences its own use of what it deprecates (std::stable_sort), but for the
  # place where it stands: not where a precompiled template is instantiated.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
  add_link_options(-fuse-ld=lld)
else()
  add_compile_options(-fdiagnostics-color=auto)
endif()

# The compile cache knows by this stamp which compiler has made an entry.
add_link_options(-Wl,--build-id)

if(TILEWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
endif()
