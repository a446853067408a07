# libframewalk in both forms, from the one object library. Only fw_ symbols are global in either:
# the shared library hides the others by visibility; the static one is linked into a single object
# whose hidden symbols are made local, so that they cannot meet an application's own names.

add_library(framewalk_shared SHARED $<TARGET_OBJECTS:framewalk_core>)
set_target_properties(framewalk_shared PROPERTIES
  OUTPUT_NAME framewalk EXPORT_NAME framewalk
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
# What the compiler itself calls (64-bit division, personality routines on 32-bit ARM) comes along, hidden.
target_link_options(framewalk_shared PRIVATE -static-libgcc -Wl,--exclude-libs,ALL)
if(NOT FW_SANITIZE AND NOT FW_FUZZ) # a sanitizer's runtime lives in the executable
  # Bound at load: a signal handler never enters the loader to resolve a symbol.
  target_link_options(framewalk_shared PRIVATE -Wl,-z,defs -Wl,-z,now)
endif()

if(FW_SANITIZE OR FW_FUZZ)
  # Sanitizers number and register their sections by object file: left as they are.
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
