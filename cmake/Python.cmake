# The Python extension tilewright._native, beside a copy of the package in build/<preset>/python.
# Needs nanobind in the interpreter that is found; without it there is no extension.

set(TILEWRIGHT_PYTHON_EXECUTABLE "" CACHE FILEPATH "The interpreter to build the extension for")

function(tw_add_python)
  if(NOT TILEWRIGHT_LLVM OR TILEWRIGHT_SANITIZE)
    return()
  endif()
  set(python ${TILEWRIGHT_PYTHON_EXECUTABLE})
  if(NOT python AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  endif()
  if(NOT python)
    return()
  endif()
  execute_process(COMMAND ${python} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE missing)
  if(missing)
    message(STATUS "no nanobind: the Python extension is not built")
    return()
  endif()
  set(Python_EXECUTABLE ${python})
  find_package(Python 3.9 COMPONENTS Interpreter Development.Module REQUIRED)
  find_package(nanobind CONFIG REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cpp)
  nanobind_add_module(python_native NB_STATIC NOMINSIZE ${sources})
  target_include_directories(python_native PRIVATE ${PROJECT_SOURCE_DIR}/python/bindings)
  set_target_properties(python_native PROPERTIES OUTPUT_NAME _native
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/tilewright)
  target_link_libraries(python_native PRIVATE ${TW_EVERYTHING})
  # The layers' symbols stay inside, so that another LLVM in the process does not meet ours.
  target_link_options(python_native PRIVATE -Wl,--exclude-libs,ALL)
  file(GLOB package CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/tilewright/*.py)
  foreach(source ${package})
    cmake_path(GET source FILENAME name)
    file(CREATE_LINK ${source} ${PROJECT_BINARY_DIR}/python/tilewright/${name} SYMBOLIC)
  endforeach()
endfunction()
