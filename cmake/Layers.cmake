# One static library tw_<layer> for each folder of src/, linked as the layer table says.
# A layer without a .cpp file is an interface library, so that it can be linked all the same.
#
#   tw_support_bare   src/support/bare: what the runtime uses; no exceptions, no RTTI
#   tw_target         src/target without llvm/, no_llvm.cpp and all.cpp
#   tw_target_llvm    src/target/llvm, the only library that sees LLVM
#   tw_target_all     src/target/all.cpp, the list of back ends; what other layers link as `target`;
#                     sees TILEWRIGHT_LLVM=1 where the LLVM back end is built

set(layer_table ${PROJECT_SOURCE_DIR}/tools/check_layers.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${layer_table})
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} ${layer_table} --cmake
                OUTPUT_VARIABLE layer_text COMMAND_ERROR_IS_FATAL ANY)
cmake_language(EVAL CODE "${layer_text}")  # sets TW_LAYERS and TW_USES_<layer>
if(NOT TW_IMAGE_LIBRARIES_FOUND)
  list(REMOVE_ITEM TW_LAYERS images)
endif()

set(TW_COMMON_HEADERS ${PROJECT_SOURCE_DIR}/src/ir/build.h ${PROJECT_SOURCE_DIR}/src/ir/rewrite.h)
# Layers of many small files, with what all of them read beside that.
set(TW_HEADERS_ops graph/onnx_node.h ops/checks.h ops/define.h ops/formula.h ops/ops.h te/te.h)
set(TW_HEADERS_schedule arith/context.h schedule/nests.h schedule/steps.h)
set(TW_HEADERS_tune graph/graph.h ir/print.h lower/to_blocks.h schedule/schedule.h te/te.h)
set(TW_HEADERS_OF_driver tune)

function(tw_library name)
  if(ARGN)
    add_library(${name} STATIC ${ARGN})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  endif()
endfunction()

# Links a library, whether it has sources or not, to further ones.
function(tw_link name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(${name} INTERFACE ${ARGN})
  else()
    target_link_libraries(${name} PUBLIC ${ARGN})
  endif()
endfunction()

function(tw_link_layer layer)
  tw_link(tw_${layer} ${ARGN})
endfunction()

# The libraries that stand for the given layers.
function(tw_libraries_of result)
  list(TRANSFORM ARGN PREPEND tw_)
  list(TRANSFORM ARGN REPLACE "^tw_target$" tw_target_all)
  set(${result} ${ARGN} PARENT_SCOPE)
endfunction()

# The runtime is loaded into programs that know nothing of C++ exceptions.
function(tw_without_exceptions name)
  get_target_property(type ${name} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
    if(TILEWRIGHT_SANITIZE)
      target_compile_options(${name} PRIVATE -fno-sanitize=vptr)
    endif()
  endif()
endfunction()

function(tw_add_target_llvm)
  if(NOT TILEWRIGHT_LLVM)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/target/llvm/*.cpp)
  find_package(LLVM 22.1 REQUIRED CONFIG)  # the series 22 is numbered 22.1.x
  message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}")
  tw_library(tw_target_llvm ${sources})
  tw_link(tw_target_llvm tw_target)
  if(sources)
    tw_precompile(tw_target_llvm ${TW_COMMON_HEADERS} <llvm/IR/IRBuilder.h> <llvm/IR/Module.h>)
    target_include_directories(tw_target_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
    separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
    target_compile_definitions(tw_target_llvm PRIVATE ${definitions})
    target_link_libraries(tw_target_llvm PRIVATE LLVM)  # the shared library: links in a moment
    target_compile_definitions(tw_target_llvm PUBLIC TILEWRIGHT_LLVM=1)
    tw_link(tw_target_all tw_target_llvm)
  endif()
endfunction()

function(tw_add_layers)
  foreach(layer ${TW_LAYERS})
    set(folder ${PROJECT_SOURCE_DIR}/src/${layer})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/src/(support/bare/|target/llvm/|target/(no_llvm|all)\\.cpp$)")
    tw_library(tw_${layer} ${sources})
    if(sources AND (layer STREQUAL "ir" OR "ir" IN_LIST TW_USES_${layer}))
      if(layer STREQUAL "ir" OR TW_HEADERS_${layer})
        list(TRANSFORM TW_HEADERS_${layer} PREPEND ${PROJECT_SOURCE_DIR}/src/)
        tw_precompile(tw_${layer} ${TW_COMMON_HEADERS} ${TW_HEADERS_${layer}})
      elseif(TW_HEADERS_OF_${layer})
        tw_precompile_as(tw_${layer} tw_${TW_HEADERS_OF_${layer}})
      else()
        tw_precompile_as(tw_${layer} tw_ir)
      endif()
    endif()
  endforeach()

  if(TARGET tw_ops AND NOT TILEWRIGHT_SANITIZE)  # definitions run once for each node of a model
    target_compile_options(tw_ops PRIVATE -O1)
  endif()

  file(GLOB_RECURSE bare CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/support/bare/*.cpp)
  tw_library(tw_support_bare ${bare})
  tw_link(tw_support_bare Threads::Threads ${CMAKE_DL_LIBS})
  tw_link(tw_support tw_support_bare)

  file(GLOB all_backends CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/target/all.cpp)
  if(NOT TILEWRIGHT_LLVM)
    list(APPEND all_backends ${PROJECT_SOURCE_DIR}/src/target/no_llvm.cpp)
  endif()
  tw_library(tw_target_all ${all_backends})
  tw_link(tw_target_all tw_target)

  foreach(layer ${TW_LAYERS})
    tw_libraries_of(uses ${TW_USES_${layer}})
    if(layer MATCHES "^(runtime|module|vdla|images)$")
      list(TRANSFORM uses REPLACE "^tw_support$" tw_support_bare)
      tw_without_exceptions(tw_${layer})
    endif()
    tw_link(tw_${layer} ${uses})
  endforeach()
  tw_without_exceptions(tw_support_bare)

  tw_add_target_llvm()

  tw_libraries_of(cli ${TW_USES_cli})
  set(TW_CLI_LAYERS ${cli} PARENT_SCOPE)
  set(linked ${TW_LAYERS})
  list(REMOVE_ITEM linked images)  # it is loaded
  tw_libraries_of(everything ${linked})
  set(TW_EVERYTHING ${everything} PARENT_SCOPE)
endfunction()

# Every <folder>/*.cpp is a program build/<preset>/<folder>/<name>.
function(tw_add_programs folder)
  cmake_parse_arguments(arg "" "ON_DEMAND" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    set(target ${folder}_${name})
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${folder})
    target_link_libraries(${target} PRIVATE ${arg_LINK} ${TW_EVERYTHING})
    if(arg_ON_DEMAND)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
      add_dependencies(${arg_ON_DEMAND} ${target})
    endif()
  endforeach()
endfunction()
