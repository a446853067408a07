# Mach-O with clang and lld and without an SDK, run on Linux by the loader of tests/machhost. Included by
# apple-x86_64.cmake and apple-arm64.cmake, which say FW_MACHHOST_TRIPLE, FW_MACHHOST_CC and FW_MACHHOST_RUN.
set(CMAKE_SYSTEM_NAME Darwin) # for iOS as well: the triple decides, and CMake would ask for Xcode's SDK
set(FW_MACHHOST ON)           # the project builds its own libSystem and links everything with it

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_ASM_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET ${FW_MACHHOST_TRIPLE})
set(CMAKE_ASM_COMPILER_TARGET ${FW_MACHHOST_TRIPLE})
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
set(CMAKE_OSX_ARCHITECTURES "")
foreach(tool IN ITEMS AR RANLIB NM OBJDUMP STRIP INSTALL_NAME_TOOL OTOOL)
  string(TOLOWER ${tool} name)
  string(REPLACE "_" "-" name ${name})
  find_program(CMAKE_${tool} llvm-${name}-19 REQUIRED)
endforeach()

# The compiler's own headers stay; all others are those of the host, which hold what the product uses.
get_filename_component(fw_machhost ${CMAKE_CURRENT_LIST_DIR}/../../tests/machhost ABSOLUTE)
set(CMAKE_C_FLAGS_INIT "-nostdlibinc -isystem ${fw_machhost}/include")
set(CMAKE_ASM_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
find_program(fw_machhost_linker ld64.lld-19 REQUIRED)
# The linker's version tells clang which options lld takes.
foreach(kind IN ITEMS EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "--ld-path=${fw_machhost_linker} -mlinker-version=705 -nodefaultlibs")
endforeach()
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # there is no libSystem before the project is built

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR
  ${FW_MACHHOST_RUN} ${CMAKE_BINARY_DIR}/tests/machhost/machhost ${CMAKE_BINARY_DIR}/tests/machhost/system)
