# libframewalk in both forms, from the one object library. Only fw_ symbols are global in either:
# the shared library hides the others by visibility; the static one is linked into a single object
# whose hidden symbols are made local, so that they cannot meet an application's own names.

add_library(framewalk_shared SHARED $<TARGET_OBJECTS:framewalk_core>)
set_target_properties(framewalk_shared PROPERTIES
  OUTPUT_NAME framewalk EXPORT_NAME framewalk
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
if(NOT APPLE)
  # What the compiler itself calls (64-bit division, personality routines on 32-bit ARM) comes along, hidden.
  target_link_options(framewalk_shared PRIVATE -static-libgcc -Wl,--exclude-libs,ALL)
endif()
if(NOT APPLE)
  target_link_options(framewalk_shared PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/internal.map)
endif()
if(NOT FW_SANITIZE AND NOT FW_FUZZ AND NOT APPLE) # a sanitizer's runtime lives in the executable
  # Bound at load: a signal handler never enters the loader to resolve a symbol.
  target_link_options(framewalk_shared PRIVATE -Wl,-z,defs -Wl,-z,now)
endif()

if(FW_SANITIZE OR FW_FUZZ OR APPLE)
  # Sanitizers number and register their sections by object file: left as they are. Apple's linker makes
  # hidden symbols of archives local by itself when it links an image.
  add_library(framewalk_static STATIC $<TARGET_OBJECTS:framewalk_core>)
else()
  separate_arguments(fw_partial_flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
  set(fw_partial ${CMAKE_CURRENT_BINARY_DIR}/libframewalk.o)
  add_custom_command(OUTPUT ${fw_partial}
    COMMAND ${CMAKE_C_COMPILER} ${fw_partial_flags} -r -nostdlib -Wl,--force-group-allocation
            -o ${fw_partial} $<TARGET_OBJECTS:framewalk_core>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${fw_partial}
    DEPENDS framewalk_core $<TARGET_OBJECTS:framewalk_core>
    COMMENT "Linking libframewalk.o with its internal symbols made local"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_library(framewalk_static STATIC ${fw_partial})
endif()
set_target_properties(framewalk_static PROPERTIES
  OUTPUT_NAME framewalk EXPORT_NAME static LINKER_LANGUAGE C)

foreach(target framewalk_shared framewalk_static)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
add_library(framewalk::framewalk ALIAS framewalk_shared)
add_library(framewalk::static ALIAS framewalk_static)

# libframewalk-symbols in both forms, where its libraries are. It holds hidden copies of what it needs
# of libframewalk's insides, and nothing that is not reached from its own interface: an application
# may link both, in any order and form. fw_error_text is in both; in the static one it is weak.
if(TARGET framewalk_symbols_core)
  find_package(Threads REQUIRED)
  set(FW_SYMBOLS_API # what symbolicate.h and error.h declare; packaging/check/exported.sh compares
    fw_error_text
    fw_reason_text
    fw_source_close
    fw_source_info
    fw_source_open
    fw_symbolicate
    fw_symbolicate_stack
    fw_symbolicator_create
    fw_symbolicator_destroy
    fw_symbols_free
    )
  add_library(framewalk_symbols_members STATIC
    $<TARGET_OBJECTS:framewalk_symbols_core> $<TARGET_OBJECTS:framewalk_core>)
  set_target_properties(framewalk_symbols_members PROPERTIES LINKER_LANGUAGE C)
  list(TRANSFORM FW_SYMBOLS_API PREPEND "-Wl,-u," OUTPUT_VARIABLE fw_symbols_roots)
  list(JOIN FW_SYMBOLS_API "; " fw_symbols_names)
  set(fw_symbols_map ${CMAKE_CURRENT_BINARY_DIR}/framewalk-symbols.map)
  file(CONFIGURE OUTPUT ${fw_symbols_map} CONTENT "{ global: @fw_symbols_names@; local: *; };\n" @ONLY)

  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/framewalk-symbols.c @ONLY
    CONTENT "typedef int framewalk_symbols; /* a library needs a source of its own */\n")
  add_library(framewalk_symbols_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/framewalk-symbols.c)
  set_target_properties(framewalk_symbols_shared PROPERTIES
    OUTPUT_NAME framewalk-symbols EXPORT_NAME symbols
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C LINK_DEPENDS ${fw_symbols_map})
  target_link_options(framewalk_symbols_shared PRIVATE
    ${fw_symbols_roots} -static-libgcc -Wl,--version-script=${fw_symbols_map})
  target_link_libraries(framewalk_symbols_shared PRIVATE
    framewalk_symbols_members framewalk_codecs framewalk_demangle Threads::Threads ${CMAKE_DL_LIBS})
  if(NOT FW_SANITIZE AND NOT FW_FUZZ)
    target_link_options(framewalk_symbols_shared PRIVATE -Wl,-z,defs)
    list(TRANSFORM FW_SYMBOLS_API PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE fw_symbols_kept)
    set(fw_partial ${CMAKE_CURRENT_BINARY_DIR}/libframewalk-symbols.o)
    add_custom_command(OUTPUT ${fw_partial}
      COMMAND ${CMAKE_C_COMPILER} ${fw_partial_flags} -r -nostdlib -Wl,--force-group-allocation ${fw_symbols_roots}
              -o ${fw_partial} $<TARGET_FILE:framewalk_symbols_members> $<TARGET_FILE:framewalk_codecs>
              $<TARGET_FILE:framewalk_demangle>
      COMMAND ${CMAKE_OBJCOPY} ${fw_symbols_kept} --weaken-symbol=fw_error_text ${fw_partial}
      DEPENDS framewalk_symbols_members framewalk_codecs framewalk_demangle
      COMMENT "Linking libframewalk-symbols.o with its internal symbols made local"
      VERBATIM)
    add_library(framewalk_symbols_static STATIC ${fw_partial})
    set_target_properties(framewalk_symbols_static PROPERTIES
      OUTPUT_NAME framewalk-symbols EXPORT_NAME symbols-static LINKER_LANGUAGE C)
    target_link_libraries(framewalk_symbols_static INTERFACE
      deflate zstd lzma ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS} m)
    add_library(framewalk::symbols-static ALIAS framewalk_symbols_static)
  endif()
  foreach(target framewalk_symbols_shared framewalk_symbols_static)
    if(TARGET ${target})
      target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endif()
  endforeach()
  add_library(framewalk::symbols ALIAS framewalk_symbols_shared)
endif()

# libframewalk-upload in both forms, where libcurl is. It holds hidden copies of the little that it needs of
# libframewalk (looking a report over), so a program may link all three, in any order and form.
if(TARGET framewalk_upload_core)
  set(FW_UPLOAD_API # what upload.h declares; packaging/check/exported.sh compares
    fw_upload_now
    fw_upload_start
    fw_upload_stop
    fw_upload_totals
    )
  add_library(framewalk_upload_members STATIC $<TARGET_OBJECTS:framewalk_upload_core>
    $<TARGET_OBJECTS:framewalk_upload_curl> $<TARGET_OBJECTS:framewalk_core>)
  set_target_properties(framewalk_upload_members PROPERTIES LINKER_LANGUAGE C)
  list(TRANSFORM FW_UPLOAD_API PREPEND "-Wl,-u," OUTPUT_VARIABLE fw_upload_roots)
  list(JOIN FW_UPLOAD_API "; " fw_upload_names)
  set(fw_upload_map ${CMAKE_CURRENT_BINARY_DIR}/framewalk-upload.map)
  file(CONFIGURE OUTPUT ${fw_upload_map} CONTENT "{ global: @fw_upload_names@; local: *; };\n" @ONLY)

  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/framewalk-upload.c @ONLY
    CONTENT "typedef int framewalk_upload; /* a library needs a source of its own */\n")
  add_library(framewalk_upload_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/framewalk-upload.c)
  set_target_properties(framewalk_upload_shared PROPERTIES
    OUTPUT_NAME framewalk-upload EXPORT_NAME upload
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C LINK_DEPENDS ${fw_upload_map})
  target_link_options(framewalk_upload_shared PRIVATE
    ${fw_upload_roots} -static-libgcc -Wl,--gc-sections -Wl,--version-script=${fw_upload_map})
  target_link_libraries(framewalk_upload_shared PRIVATE
    framewalk_upload_members PkgConfig::LIBCURL PkgConfig::ZLIB Threads::Threads)
  if(NOT FW_SANITIZE AND NOT FW_FUZZ)
    target_link_options(framewalk_upload_shared PRIVATE -Wl,-z,defs)
    list(TRANSFORM FW_UPLOAD_API PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE fw_upload_kept)
    set(fw_partial ${CMAKE_CURRENT_BINARY_DIR}/libframewalk-upload.o)
    add_custom_command(OUTPUT ${fw_partial}
      COMMAND ${CMAKE_C_COMPILER} ${fw_partial_flags} -r -nostdlib -Wl,--force-group-allocation ${fw_upload_roots}
              -o ${fw_partial} $<TARGET_FILE:framewalk_upload_members>
      COMMAND ${CMAKE_OBJCOPY} ${fw_upload_kept} ${fw_partial}
      DEPENDS framewalk_upload_members
      COMMENT "Linking libframewalk-upload.o with its internal symbols made local"
      VERBATIM)
    add_library(framewalk_upload_static STATIC ${fw_partial})
    set_target_properties(framewalk_upload_static PROPERTIES
      OUTPUT_NAME framewalk-upload EXPORT_NAME upload-static LINKER_LANGUAGE C)
    target_link_libraries(framewalk_upload_static INTERFACE curl z ${CMAKE_THREAD_LIBS_INIT})
    add_library(framewalk::upload-static ALIAS framewalk_upload_static)
  endif()
  foreach(target framewalk_upload_shared framewalk_upload_static)
    if(TARGET ${target})
      target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endif()
  endforeach()
  add_library(framewalk::upload ALIAS framewalk_upload_shared)
endif()
