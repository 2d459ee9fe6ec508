# libtilewright_runtime, shared and static: what a program needs to run a module. Only its C ABI is
# visible, and it links nothing but libc, libm and pthreads; not even libstdc++.
#
#   cmake --install build/release --component runtime --prefix DIR

function(tw_runtime_flags name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections -fvisibility=hidden
    $<$<COMPILE_LANGUAGE:CXX>:-fno-threadsafe-statics>)
endfunction()

# The runtime as one object file, its headers, and tuning records, inside of the compiler (src/driver/embedded.h).
function(tw_embed_runtime)
  set(folder ${PROJECT_BINARY_DIR}/embedded)
  set(object ${folder}/runtime.o)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
    DEPENDS tw_runtime tw_module tw_support_bare
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${object} $<TARGET_OBJECTS:tw_runtime>
            $<TARGET_FILE:tw_module> $<TARGET_FILE:tw_support_bare>
    COMMAND ${CMAKE_STRIP} --strip-debug ${object})
  set(headers ${PROJECT_SOURCE_DIR}/include/tilewright)
  set(records ${PROJECT_SOURCE_DIR}/src/driver/shipped_records.jsonl)
  set(text "")
  foreach(file runtime=${object} runtime_h=${headers}/runtime.h kernel_h=${headers}/kernel.h records=${records})
    string(REGEX MATCH "^([^=]*)=(.*)$" ignored ${file})
    set(name tw_embedded_${CMAKE_MATCH_1})
    string(APPEND text "__asm__(\".pushsection .rodata\\n.balign 16\\n.globl ${name}_begin\\n${name}_begin:\\n\"\n"
                       "        \".incbin \\\"${CMAKE_MATCH_2}\\\"\\n.globl ${name}_end\\n${name}_end:\\n.popsection\\n\");\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/embedded.c CONTENT "${text}" @ONLY)
  set_source_files_properties(${folder}/embedded.c PROPERTIES
    OBJECT_DEPENDS "${object};${headers}/runtime.h;${headers}/kernel.h;${records}")
  add_library(tw_embedded STATIC ${folder}/embedded.c)
  tw_link_layer(driver tw_embedded)
endfunction()

function(tw_add_runtime_library)
  foreach(layer runtime module support_bare)
    tw_runtime_flags(tw_${layer})
  endforeach()
  target_compile_definitions(tw_runtime PRIVATE
    TILEWRIGHT_BUILDING_RUNTIME TILEWRIGHT_VERSION="${PROJECT_VERSION}")

  set(objects $<TARGET_OBJECTS:tw_runtime> $<TARGET_OBJECTS:tw_module> $<TARGET_OBJECTS:tw_support_bare>)
  add_library(tilewright_runtime_static STATIC ${objects})
  set_target_properties(tilewright_runtime_static PROPERTIES
    OUTPUT_NAME tilewright_runtime LINKER_LANGUAGE C EXPORT_NAME runtime_static)
  target_link_libraries(tilewright_runtime_static PUBLIC Threads::Threads m)
  target_include_directories(tilewright_runtime_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  set(libraries tilewright_runtime_static)

  if(NOT TILEWRIGHT_SANITIZE)  # --no-undefined and sanitizers do not go together
    # The writer's half of tw_module is left out: it is linked by need.
    add_library(tilewright_runtime SHARED $<TARGET_OBJECTS:tw_runtime>)
    set_target_properties(tilewright_runtime PROPERTIES
      LINKER_LANGUAGE C EXPORT_NAME runtime VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_libraries(tilewright_runtime
      PRIVATE $<BUILD_INTERFACE:tw_module> $<BUILD_INTERFACE:tw_support_bare> PUBLIC Threads::Threads m)
    target_link_options(tilewright_runtime PRIVATE -Wl,--no-undefined -Wl,--as-needed -Wl,--gc-sections -Wl,-O1
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/runtime.map)
    tw_finds_plugin(tilewright_runtime)
    set_target_properties(tilewright_runtime PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
    target_include_directories(tilewright_runtime INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    list(APPEND libraries tilewright_runtime)
  endif()

  tw_embed_runtime()

  include(CMakePackageConfigHelpers)
  include(GNUInstallDirs)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
  install(TARGETS ${libraries} EXPORT tilewright COMPONENT runtime)
  install(EXPORT tilewright NAMESPACE tilewright:: FILE tilewright-targets.cmake DESTINATION ${package}
    COMPONENT runtime)
  file(WRITE ${PROJECT_BINARY_DIR}/tilewright-config.cmake
    "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/tilewright-targets.cmake)\n")
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
    COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/tilewright-config.cmake ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
    DESTINATION ${package} COMPONENT runtime)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # it works wherever it is installed
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-runtime.pc.in tilewright-runtime.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tilewright-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT runtime)
  install(FILES ${PROJECT_SOURCE_DIR}/include/tilewright/kernel.h ${PROJECT_SOURCE_DIR}/include/tilewright/runtime.h
    ${PROJECT_SOURCE_DIR}/include/tilewright/runtime.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilewright COMPONENT runtime)
endfunction()
