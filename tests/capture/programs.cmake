# Programs that tests capture, built without sanitizers whatever the build is, also as 32-bit where that works.
include(CheckCSourceCompiles)
find_package(Threads REQUIRED)

function(fw_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;OPTIONS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -fno-sanitize=all -O1 -g -fomit-frame-pointer ${PROGRAM_OPTIONS})
  target_link_options(${name} PRIVATE -fno-sanitize=all ${PROGRAM_OPTIONS})
  target_link_libraries(${name} PRIVATE Threads::Threads)
endfunction()

fw_program(program_threads SOURCES programs/threads.c)

if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  # The kernel's headers of the 64-bit system serve both.
  set(FW_M32_OPTIONS -m32 -idirafter/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
  string(JOIN " " CMAKE_REQUIRED_FLAGS ${FW_M32_OPTIONS})
  check_c_source_compiles("#include <errno.h>\nint main(void) { return errno; }" FW_HAVE_M32)
  unset(CMAKE_REQUIRED_FLAGS)
endif()
if(FW_HAVE_M32)
  fw_program(program_threads_32 SOURCES programs/threads.c OPTIONS ${FW_M32_OPTIONS})
endif()

# A program of another architecture, with and without shared libraries, and the emulator that writes its core.
find_program(FW_AARCH64_CC aarch64-linux-gnu-gcc)
find_program(FW_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
set(FW_AARCH64_ROOT /usr/aarch64-linux-gnu)
if(FW_AARCH64_CC AND FW_QEMU_AARCH64 AND EXISTS ${FW_AARCH64_ROOT}/lib)
  set(FW_CRASH_AARCH64 ${CMAKE_CURRENT_BINARY_DIR}/crash_aarch64)
  add_custom_command(OUTPUT ${FW_CRASH_AARCH64} ${FW_CRASH_AARCH64}_static DEPENDS programs/crash.c
    COMMAND ${FW_AARCH64_CC} -O1 -g -o ${FW_CRASH_AARCH64} ${CMAKE_CURRENT_SOURCE_DIR}/programs/crash.c
    COMMAND ${FW_AARCH64_CC} -O1 -g -static -o ${FW_CRASH_AARCH64}_static ${CMAKE_CURRENT_SOURCE_DIR}/programs/crash.c)
  add_custom_target(program_crash_aarch64 DEPENDS ${FW_CRASH_AARCH64} ${FW_CRASH_AARCH64}_static)
endif()

# The paths of the programs for a test.
function(fw_target_programs test)
  target_compile_definitions(test_${test} PRIVATE FW_PROGRAM_THREADS="$<TARGET_FILE:program_threads>")
  add_dependencies(test_${test} program_threads)
  if(FW_CRASH_AARCH64)
    target_compile_definitions(test_${test} PRIVATE FW_PROGRAM_CRASH_AARCH64="${FW_CRASH_AARCH64}"
      FW_QEMU_AARCH64="${FW_QEMU_AARCH64}" FW_AARCH64_ROOT="${FW_AARCH64_ROOT}")
    add_dependencies(test_${test} program_crash_aarch64)
  endif()
  if(FW_HAVE_M32)
    target_compile_definitions(test_${test} PRIVATE FW_PROGRAM_THREADS_32="$<TARGET_FILE:program_threads_32>")
    add_dependencies(test_${test} program_threads_32)
  endif()
endfunction()
