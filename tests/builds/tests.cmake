# Programs built in odd ways (builds.sh), with the library as it is installed; and the library built
# with another C library, where its compiler is there.
set(fw_builds ${CMAKE_CURRENT_LIST_DIR})

add_test(NAME self_builds COMMAND sh ${fw_builds}/builds.sh ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
  $<TARGET_FILE:framewalk_static> ${fw_builds} ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(self_builds PROPERTIES TIMEOUT 120)
if(FW_SANITIZE) # the library would ask for the sanitizer's runtime
  set_tests_properties(self_builds PROPERTIES DISABLED TRUE)
endif()

# Whatever compiler and sanitizers the rest is built with, this would be the same: once is enough.
find_program(MUSL_GCC musl-gcc)
if(MUSL_GCC AND NOT FW_FAST AND CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT FW_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  # Headers of the kernel, which every C library shares, come last.
  set(fw_musl_flags -D_GNU_SOURCE -std=gnu11 -O1 -fPIC -fvisibility=hidden -Wall -Wextra -Wconversion
    -Wshadow -Wstrict-prototypes -Werror -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -idirafter /usr/include -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src)
  get_target_property(fw_sources framewalk_core SOURCES)
  set(fw_musl_objects)
  foreach(source IN LISTS fw_sources)
    string(REPLACE "/" "_" name ${source})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/musl/${name}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${MUSL_GCC} ${fw_musl_flags} -MMD -MF ${object}.d -MT ${object}
              -c ${PROJECT_SOURCE_DIR}/src/${source} -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/src/${source} DEPFILE ${object}.d VERBATIM)
    list(APPEND fw_musl_objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/musl)
  set(fw_musl_library ${CMAKE_CURRENT_BINARY_DIR}/musl/libframewalk.a)
  add_custom_command(OUTPUT ${fw_musl_library}
    COMMAND ${CMAKE_AR} rcs ${fw_musl_library} ${fw_musl_objects}
    DEPENDS ${fw_musl_objects} VERBATIM COMMENT "Building libframewalk with musl")
  add_custom_target(musl_library ALL DEPENDS ${fw_musl_library})
  add_test(NAME self_builds_musl COMMAND sh ${fw_builds}/builds_musl.sh ${MUSL_GCC}
    ${fw_musl_library} ${fw_builds} ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(self_builds_musl PROPERTIES TIMEOUT 120)
endif()
