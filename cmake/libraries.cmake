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

# fw_outer_library(NAME API... OBJECTS... [ARCHIVES...] [WEAK...] [OPTIONS...] SHARED_NEEDS... STATIC_NEEDS...)
# libframewalk-NAME in both forms: hidden copies of what it needs of libframewalk's insides, and nothing that is not reached
# from its own interface. An application may link all of them, in any order and form. API is what its header declares
# (packaging/check/exported.sh compares), WEAK what another of the static libraries may bring as well.
function(fw_outer_library name)
  cmake_parse_arguments(PARSE_ARGV 1 lib "" "" "API;OBJECTS;ARCHIVES;WEAK;OPTIONS;SHARED_NEEDS;STATIC_NEEDS")
  set(file framewalk-${name})
  set(target framewalk_${name})
  list(TRANSFORM lib_API PREPEND "-Wl,-u," OUTPUT_VARIABLE roots)
  list(JOIN lib_API "; " names)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${file}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "{ global: @names@; local: *; };\n" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${file}.c @ONLY
    CONTENT "typedef int framewalk_@name@; /* a library needs a source of its own */\n")

  add_library(${target}_members STATIC ${lib_OBJECTS} $<TARGET_OBJECTS:framewalk_core>)
  set_target_properties(${target}_members PROPERTIES LINKER_LANGUAGE C)
  add_library(${target}_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/${file}.c)
  set_target_properties(${target}_shared PROPERTIES
    OUTPUT_NAME ${file} EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C LINK_DEPENDS ${map})
  target_link_options(${target}_shared PRIVATE ${roots} -static-libgcc ${lib_OPTIONS} -Wl,--version-script=${map})
  target_link_libraries(${target}_shared PRIVATE ${target}_members ${lib_ARCHIVES} ${lib_SHARED_NEEDS})
  set(forms ${target}_shared)
  add_library(framewalk::${name} ALIAS ${target}_shared)

  if(NOT FW_SANITIZE AND NOT FW_FUZZ)
    target_link_options(${target}_shared PRIVATE -Wl,-z,defs)
    list(TRANSFORM lib_API PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE kept)
    list(TRANSFORM lib_WEAK PREPEND "--weaken-symbol=" OUTPUT_VARIABLE weakened)
    set(archives)
    foreach(archive IN LISTS lib_ARCHIVES)
      list(APPEND archives $<TARGET_FILE:${archive}>)
    endforeach()
    set(partial ${CMAKE_CURRENT_BINARY_DIR}/lib${file}.o)
    add_custom_command(OUTPUT ${partial}
      COMMAND ${CMAKE_C_COMPILER} ${fw_partial_flags} -r -nostdlib -Wl,--force-group-allocation ${roots}
              -o ${partial} $<TARGET_FILE:${target}_members> ${archives}
      COMMAND ${CMAKE_OBJCOPY} ${kept} ${weakened} ${partial}
      DEPENDS ${target}_members ${lib_ARCHIVES}
      COMMENT "Linking lib${file}.o with its internal symbols made local"
      VERBATIM)
    add_library(${target}_static STATIC ${partial})
    set_target_properties(${target}_static PROPERTIES
      OUTPUT_NAME ${file} EXPORT_NAME ${name}-static LINKER_LANGUAGE C)
    target_link_libraries(${target}_static INTERFACE ${lib_STATIC_NEEDS})
    list(APPEND forms ${target}_static)
    add_library(framewalk::${name}-static ALIAS ${target}_static)
  endif()
  foreach(form IN LISTS forms)
    target_include_directories(${form} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()

if(TARGET framewalk_symbols_core OR TARGET framewalk_upload_core)
  find_package(Threads REQUIRED)
endif()
if(TARGET framewalk_symbols_core)
  fw_outer_library(symbols
    API fw_error_text fw_reason_text fw_source_close fw_source_info fw_source_open fw_symbolicate fw_symbolicate_stack
        fw_symbolicator_create fw_symbolicator_destroy fw_symbols_free
    OBJECTS $<TARGET_OBJECTS:framewalk_symbols_core>
    ARCHIVES framewalk_codecs framewalk_demangle
    WEAK fw_error_text
    SHARED_NEEDS Threads::Threads ${CMAKE_DL_LIBS}
    STATIC_NEEDS deflate zstd lzma ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS} m)
endif()
if(TARGET framewalk_upload_core) # of libframewalk it has what looks a report over
  fw_outer_library(upload
    API fw_upload_now fw_upload_start fw_upload_stop fw_upload_totals
    OBJECTS $<TARGET_OBJECTS:framewalk_upload_core> $<TARGET_OBJECTS:framewalk_upload_curl>
    OPTIONS -Wl,--gc-sections
    SHARED_NEEDS PkgConfig::LIBCURL PkgConfig::ZLIB Threads::Threads
    STATIC_NEEDS curl z ${CMAKE_THREAD_LIBS_INIT})
endif()
