# tests/<folder>/**.cpp is one GoogleTest program test_<folder>, run from the root of the repository.
# A folder named after a layer links that layer and what it uses; others link everything.
#
#   tests/common        helpers for all: headers, and .cpp files in a library of their own
#   tests/target/llvm   test_target_llvm, only with TILEWRIGHT_LLVM
#   tests/fuzz          one program each, not part of ctest

# What the tests of a layer use beside the layer itself.
set(TW_TESTS_USE_graph ops te lower)
set(TW_TESTS_USE_schedule te lower runtime)
set(TW_TESTS_USE_lower schedule runtime)
set(TW_TESTS_USE_ops driver)
set(TW_TESTS_USE_target te schedule lower runtime)
set(TW_TESTS_USE_runtime module support)
set(TW_TESTS_USE_module support)
set(TW_TESTS_USE_vdla support)
set(TW_TESTS_USE_images runtime module support)

# What a fuzzer driven by libFuzzer reads with: it is built for that alone.
set(TW_FUZZ_USES_parse ir)
set(TW_FUZZ_USES_module runtime module support)
set(TW_FUZZ_USES_onnx frontend)

# Layers whose tests feed hostile bytes to a reader: `make test` runs them under sanitizers too.
set(TW_UNTRUSTED support ir module runtime frontend images)

# What tests that know the loop IR read.
set(TW_TEST_HEADERS graph/graph.h ir/interpret/interpret.h ir/parse.h ir/print.h schedule/schedule.h te/te.h)

function(tw_test_program name folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE GTest::gtest_main tw_test_common ${arg_LINK})
  target_compile_options(${name} PRIVATE -O0)  # the time goes into compiling them, not into running them
  list(LENGTH arg_SOURCES files)
  if(name STREQUAL "test_ir")
    list(TRANSFORM TW_TEST_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/src/)
    tw_precompile(${name} <gtest/gtest.h> <random> ${TW_COMMON_HEADERS} ${TW_TEST_HEADERS})
  elseif(NOT folder MATCHES "^(support|module|runtime|vdla|images)$")
    tw_precompile_as(${name} test_ir)
  elseif(files GREATER 3)
    tw_precompile(${name} <gtest/gtest.h>)
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX ${folder}. WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

function(tw_add_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  set(tests ${PROJECT_SOURCE_DIR}/tests)

  file(GLOB common CONFIGURE_DEPENDS ${tests}/common/*.cpp)
  tw_library(tw_test_common ${common})
  tw_link(tw_test_common GTest::gtest tw_ir)
  if(common)
    target_include_directories(tw_test_common PRIVATE ${tests})
  endif()

  add_custom_target(untrusted_tests)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${tests}/*)
  list(REMOVE_ITEM folders ${tests}/ir)
  list(PREPEND folders ${tests}/ir)  # the others use its precompiled headers
  foreach(folder ${folders})
    cmake_path(GET folder FILENAME name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/tests/(common|fuzz|target/llvm)/")
    if(name STREQUAL "images" AND NOT TARGET tw_images)
      set(sources "")
    endif()
    if(sources)
      if(name IN_LIST TW_LAYERS)
        tw_libraries_of(link ${name} ${TW_TESTS_USE_${name}})
      else()
        set(link ${TW_EVERYTHING})
      endif()
      tw_test_program(test_${name} ${name} SOURCES ${sources} LINK ${link})
      if(name IN_LIST TW_UNTRUSTED)
        add_dependencies(untrusted_tests test_${name})
      endif()
    endif()
  endforeach()

  if(TARGET test_arith)  # the rules of the simplifier are proved, not sampled
    target_link_libraries(test_arith PRIVATE z3)
  endif()
  if(TARGET test_images)  # checksums of PNG
    target_link_libraries(test_images PRIVATE ZLIB::ZLIB)
  endif()

  # Kernels for the tests of modules, linked like the compiler's: nothing but themselves.
  add_library(test_kernels MODULE EXCLUDE_FROM_ALL ${tests}/module/kernels.c)
  set_target_properties(test_kernels PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(test_kernels PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(test_kernels PRIVATE -O2 -fno-stack-protector -ffreestanding -fno-sanitize=all)
  target_link_options(test_kernels PRIVATE -nostdlib -fno-sanitize=all)
  foreach(program test_module test_runtime)
    if(TARGET ${program})
      add_dependencies(${program} test_kernels)
      target_compile_definitions(${program} PRIVATE TW_TEST_KERNELS="$<TARGET_FILE:test_kernels>")
    endif()
  endforeach()

  if(TARGET tilewright_runtime)
    add_test(NAME runtime.Library.NeedsNothingButTheCLibrary
      COMMAND sh -c "! readelf -d $<TARGET_FILE:tilewright_runtime> | grep -E 'NEEDED.*(stdc|gcc|LLVM|jpeg|png|tiff|webp|openjp2|images)'")
  endif()

  file(GLOB_RECURSE llvm_sources CONFIGURE_DEPENDS ${tests}/target/llvm/*.cpp)
  if(TILEWRIGHT_LLVM AND llvm_sources)
    tw_libraries_of(link target ${TW_TESTS_USE_target})
    tw_test_program(test_target_llvm target.llvm SOURCES ${llvm_sources} LINK ${link} tw_target_llvm)
  endif()
endfunction()

# A file that defines LLVMFuzzerTestOneInput is driven by libFuzzer and built by the preset `fuzz`
# alone; any other has its own main().
function(tw_add_fuzzers)
  add_custom_target(guided_fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "^fuzz_|_fuzz$" "" name ${name})
    file(STRINGS ${source} guided REGEX "LLVMFuzzerTestOneInput" LIMIT_COUNT 1)
    if(guided AND NOT TILEWRIGHT_SANITIZE MATCHES "fuzzer")
      continue()
    endif()
    add_executable(fuzz_${name} ${source})
    target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(guided)
      tw_libraries_of(link ${TW_FUZZ_USES_${name}})
      target_link_libraries(fuzz_${name} PRIVATE ${link})
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
      add_dependencies(guided_fuzzers fuzz_${name})
      set(folder fuzz-guided)
    else()
      target_link_libraries(fuzz_${name} PRIVATE tw_test_common ${TW_EVERYTHING})
      set(folder fuzz)
    endif()
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  endforeach()
endfunction()
