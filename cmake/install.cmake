# What `cmake --install` lays down: libraries with their headers, pkg-config and CMake package files, and with the
# command its man pages and shell completions. All of it can be moved as a whole to another prefix.
include(CMakePackageConfigHelpers)

set(fw_headers_elsewhere)
if(NOT TARGET framewalk_symbols_shared)
  list(APPEND fw_headers_elsewhere PATTERN symbolicate.h EXCLUDE)
endif()
if(NOT TARGET framewalk_upload_shared)
  list(APPEND fw_headers_elsewhere PATTERN upload.h EXCLUDE)
endif()
if(APPLE)
  list(APPEND fw_headers_elsewhere PATTERN process.h EXCLUDE)
  install(FILES packaging/apple/PrivacyInfo.xcprivacy DESTINATION ${CMAKE_INSTALL_DATADIR}/framewalk)
else()
  list(APPEND fw_headers_elsewhere PATTERN foundation.h EXCLUDE)
endif()
install(DIRECTORY include/framewalk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${fw_headers_elsewhere}
        PATTERN "*.h")
install(TARGETS framewalk_shared framewalk_static EXPORT framewalk-targets)
foreach(name IN ITEMS symbols upload)
  if(TARGET framewalk_${name}_shared)
    set(fw_forms framewalk_${name}_shared)
    if(TARGET framewalk_${name}_static)
      list(APPEND fw_forms framewalk_${name}_static)
    endif()
    install(TARGETS ${fw_forms} EXPORT framewalk-${name}-targets)
    install(EXPORT framewalk-${name}-targets NAMESPACE framewalk::
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/framewalk)
  endif()
endforeach()

install(EXPORT framewalk-targets NAMESPACE framewalk::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/framewalk)
configure_package_config_file(cmake/framewalk-config.cmake.in framewalk-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/framewalk NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(framewalk-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/framewalk-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/framewalk-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/framewalk)

# The .pc files find their prefix from their own place.
file(RELATIVE_PATH FW_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" FW_PC_PREFIX "${FW_PC_PREFIX}")
configure_file(cmake/framewalk.pc.in framewalk.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/framewalk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET framewalk_symbols_shared)
  configure_file(cmake/framewalk-symbols.pc.in framewalk-symbols.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/framewalk-symbols.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(TARGET framewalk_upload_shared)
  configure_file(cmake/framewalk-upload.pc.in framewalk-upload.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/framewalk-upload.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET framewalk_agent) # a library for no program to link: in a folder of its own
  install(TARGETS framewalk_agent LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/framewalk)
endif()

if(TARGET framewalk_collector_program) # `framewalk serve` starts it
  install(TARGETS framewalk_collector_program framewalk_converter RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/framewalk)
endif()

if(TARGET framewalk)
  install(TARGETS framewalk RUNTIME)
  file(GLOB fw_man1 CONFIGURE_DEPENDS packaging/man/*.1)
  install(FILES ${fw_man1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES packaging/completions/framewalk.bash RENAME framewalk
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES packaging/completions/framewalk.zsh RENAME _framewalk
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES packaging/completions/framewalk.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
