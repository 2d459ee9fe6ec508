# libtilewright_images, shared and static: the runtime's plug-in for JPEG, PNG, TIFF, WebP and JPEG 2000
# (src/images). The runtime links none of it and loads it by name. Left out where a library is missing.
#
#   cmake --install build/release --component images --prefix DIR

set(TW_IMAGE_LIBRARIES libjpeg libpng>=1.6 libtiff-4>=4.5 libwebp>=1.0 libwebpdemux libopenjp2>=2.5)
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(TW_IMAGE_LIBRARIES IMPORTED_TARGET ${TW_IMAGE_LIBRARIES})
endif()
if(NOT TW_IMAGE_LIBRARIES_FOUND)
  message(STATUS "no plug-in for images: it needs ${TW_IMAGE_LIBRARIES} (tools/setup.sh)")
endif()

# Lets a program or library find the plug-in beside itself, where it calls dlopen; `also`: elsewhere too.
function(tw_finds_plugin name)
  set(places "$ORIGIN")
  foreach(also ${ARGN})
    list(APPEND places "$ORIGIN/${also}")
  endforeach()
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "${places}")
endfunction()

function(tw_add_images_library)
  if(NOT TARGET tw_images)
    return()
  endif()
  target_link_libraries(tw_images PUBLIC PkgConfig::TW_IMAGE_LIBRARIES)
  target_compile_definitions(tw_images PRIVATE TILEWRIGHT_BUILDING_RUNTIME)
  tw_runtime_flags(tw_images)

  include(GNUInstallDirs)
  add_library(tilewright_images_static STATIC $<TARGET_OBJECTS:tw_images>)
  set_target_properties(tilewright_images_static PROPERTIES OUTPUT_NAME tilewright_images LINKER_LANGUAGE C)
  install(TARGETS tilewright_images_static COMPONENT images)
  string(REGEX REPLACE ">=[0-9.]+" "" TW_IMAGE_PACKAGES "${TW_IMAGE_LIBRARIES}")
  list(JOIN TW_IMAGE_PACKAGES " " TW_IMAGE_PACKAGES)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-images.pc.in tilewright-images.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tilewright-images.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT images)

  if(NOT TILEWRIGHT_SANITIZE)
    add_library(tilewright_images SHARED $<TARGET_OBJECTS:tw_images>)
    set_target_properties(tilewright_images PROPERTIES LINKER_LANGUAGE C SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_libraries(tilewright_images PRIVATE PkgConfig::TW_IMAGE_LIBRARIES)
    target_link_options(tilewright_images PRIVATE -Wl,--no-undefined -Wl,--as-needed -Wl,--gc-sections -Wl,-O1
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/runtime.map)
    install(TARGETS tilewright_images COMPONENT images)
  endif()
endfunction()
