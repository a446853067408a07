# Mach-O programs under the oracle, in the host of tests/machhost: x86_64 natively, arm64 under qemu-aarch64. They are
# built here, with clang and lld alone, so that `./run test` sees them without another preset.
find_program(FW_APPLE_CLANG NAMES clang-19)
find_program(FW_APPLE_LINKER NAMES ld64.lld-19)
find_program(FW_AARCH64_CC NAMES aarch64-linux-gnu-gcc)
if(oracle_disabled)
  return()
endif()
if(NOT FW_APPLE_CLANG OR NOT FW_APPLE_LINKER)
  message(STATUS "No clang-19 or ld64.lld-19: exactness of Mach-O programs is not tested")
  return()
endif()

set(machhost ${PROJECT_SOURCE_DIR}/tests/machhost)
set(programs ${PROJECT_SOURCE_DIR}/tests/programs)
set(macho_triple_x86_64 x86_64-apple-macos11)
set(macho_triple_arm64 arm64-apple-ios14)
set(macho_platform_x86_64 macos 11.0 11.0)
set(macho_platform_arm64 ios 14.0 14.0)
set(macho_cc_x86_64 ${CMAKE_C_COMPILER})
set(macho_cc_arm64 ${FW_AARCH64_CC})

# fw_macho_object(OUTPUT ARCH SOURCE FLAGS...): one object file.
function(fw_macho_object output arch source)
  add_custom_command(OUTPUT ${output}
    COMMAND ${FW_APPLE_CLANG} -target ${macho_triple_${arch}} -nostdlibinc -isystem ${machhost}/include
            -I${machhost} -fexceptions -w ${ARGN} -c ${source} -o ${output}
    DEPENDS ${source} ${programs}/frames.h ${machhost}/exports.def
    COMMENT "Mach-O ${arch}: ${output}" VERBATIM)
endfunction()

# fw_macho_link(OUTPUT ARCH FLAGS... FILES objects and dylibs)
function(fw_macho_link output arch)
  cmake_parse_arguments(PARSE_ARGV 2 link "" "" "FILES")
  add_custom_command(OUTPUT ${output}
    COMMAND ${FW_APPLE_LINKER} -arch ${arch} -platform_version ${macho_platform_${arch}}
            ${link_UNPARSED_ARGUMENTS} ${link_FILES} -o ${output}
    DEPENDS ${link_FILES} COMMENT "Mach-O ${arch}: ${output}" VERBATIM)
endfunction()

# The loader, and the libSystem and dyld that its programs see.
function(fw_macho_host arch)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${arch})
  file(MAKE_DIRECTORY ${folder}/system)
  file(GLOB sources CONFIGURE_DEPENDS ${machhost}/loader/*.c ${machhost}/loader/*.S)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${machhost}/loader/*.h ${machhost}/include/*.h)
  add_custom_command(OUTPUT ${folder}/machhost
    COMMAND ${macho_cc_${arch}} -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -idirafter ${machhost}/include
            -o ${folder}/machhost ${sources}
    DEPENDS ${sources} ${headers} ${machhost}/exports.def COMMENT "Mach-O ${arch}: the loader" VERBATIM)
  fw_macho_object(${folder}/system/libSystem.o ${arch} ${machhost}/system/system.S)
  fw_macho_object(${folder}/system/dyld.o ${arch} ${machhost}/system/system.S -DMACHHOST_DYLD)
  fw_macho_link(${folder}/system/libSystem.dylib ${arch} -dylib -install_name /usr/lib/libSystem.B.dylib
    FILES ${folder}/system/libSystem.o)
  fw_macho_link(${folder}/system/dyld.dylib ${arch} -dylib -install_name /usr/lib/dyld
    FILES ${folder}/system/dyld.o)
  add_custom_target(oracle_macho_${arch}
    DEPENDS ${folder}/machhost ${folder}/system/libSystem.dylib ${folder}/system/dyld.dylib)
endfunction()

# fw_macho_program(ARCH NAME VARIANT SOURCES main library FLAGS flags...): the program of the sources
# named first, with a dylib of those named second, compiled with the flags; and its test.
function(fw_macho_program arch name variant)
  cmake_parse_arguments(PARSE_ARGV 3 program "" "" "MAIN;LIBRARY;FLAGS")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${arch})
  set(path ${folder}/${name}_${variant})
  foreach(part IN ITEMS MAIN LIBRARY)
    set(objects_${part})
    foreach(source IN LISTS program_${part})
      fw_macho_object(${path}.${source}.o ${arch} ${programs}/${source} ${program_FLAGS})
      list(APPEND objects_${part} ${path}.${source}.o)
    endforeach()
  endforeach()
  set(libraries ${folder}/system/libSystem.dylib)
  if(program_LIBRARY)
    fw_macho_link(${path}.dylib ${arch} -dylib -install_name @executable_path/${name}_${variant}.dylib
      FILES ${objects_LIBRARY} ${folder}/system/libSystem.dylib)
    list(APPEND libraries ${path}.dylib)
  endif()
  fw_macho_link(${path} ${arch} -e _main FILES ${objects_MAIN} ${libraries})
  add_custom_target(oracle_macho_${arch}_${name}_${variant} ALL DEPENDS ${path})
  add_dependencies(oracle_macho_${arch}_${name}_${variant} oracle_macho_${arch})

  add_test(NAME oracle_macho_${arch}_${name}_${variant}
    COMMAND fw_oracle --macho run_main --max 60000 --least 100 --
            ${folder}/machhost ${folder}/system ${path})
  set_tests_properties(oracle_macho_${arch}_${name}_${variant} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120
    LABELS "oracle;macho"
    ENVIRONMENT "QEMU_CPU=max;QEMU_LD_PREFIX=/usr/aarch64-linux-gnu")
endfunction()

set(no_tables -fno-exceptions -fno-unwind-tables -fno-asynchronous-unwind-tables)
function(fw_macho_frames arch variant)
  fw_macho_program(${arch} frames ${variant} MAIN frames.c frames_asm.S LIBRARY frames_library.c
    FLAGS -DFRAMES_LIBRARY ${ARGN})
endfunction()
function(fw_macho_frames_cxx arch variant)
  fw_macho_program(${arch} frames_cxx ${variant} MAIN frames_cxx.cpp LIBRARY frames_runtime.c FLAGS ${ARGN})
endfunction()

function(fw_macho_frames_told arch variant)
  fw_macho_program(${arch} frames_told ${variant} MAIN frames_told.c frames_dispatch.S FLAGS ${ARGN})
endfunction()
set(outlined -mllvm -enable-machine-outliner=always)
set(split -mllvm -hot-cold-split=true -mllvm -hotcoldsplit-threshold=-1)

foreach(arch IN ITEMS x86_64 arm64)
  if(NOT macho_cc_${arch})
    message(STATUS "No compiler for the loader: exactness of Mach-O programs of ${arch} is not tested")
    continue()
  endif()
  fw_macho_host(${arch})
  foreach(level IN ITEMS O0 O1 O2 O3 Os)
    fw_macho_frames(${arch} ${level} -${level})
  endforeach()
  fw_macho_frames(${arch} O0_nofp -O0 -fomit-frame-pointer)
  fw_macho_frames(${arch} O2_nofp -O2 -fomit-frame-pointer)
  fw_macho_frames(${arch} Os_nofp -Os -fomit-frame-pointer)
  fw_macho_frames(${arch} O2_leaf_fp -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)
  fw_macho_frames(${arch} O1_dwarf -O1 -femit-dwarf-unwind=always)
  fw_macho_frames(${arch} O2_dwarf_nofp -O2 -fomit-frame-pointer -femit-dwarf-unwind=always)
  fw_macho_frames(${arch} O0_no_tables -O0 ${no_tables})
  fw_macho_frames(${arch} O2_no_tables -O2 ${no_tables})
  fw_macho_frames(${arch} O2_no_tables_nofp -O2 -fomit-frame-pointer ${no_tables})
  foreach(level IN ITEMS O0 O2 Os)
    fw_macho_frames_cxx(${arch} ${level} -${level})
    fw_macho_frames_cxx(${arch} ${level}_nofp -${level} -fomit-frame-pointer)
  endforeach()
  foreach(level IN ITEMS O0 O2 Oz)
    fw_macho_frames_told(${arch} ${level} -${level})
    fw_macho_frames_told(${arch} ${level}_nofp -${level} -fomit-frame-pointer)
  endforeach()
  fw_macho_frames_told(${arch} O2_split -O2 ${split})
  fw_macho_frames_told(${arch} O2_split_nofp -O2 -fomit-frame-pointer ${split})
  fw_macho_frames_told(${arch} O2_outlined -O2 ${outlined})
  fw_macho_frames_told(${arch} Oz_outlined -Oz ${outlined})
  fw_macho_frames_told(${arch} Oz_outlined_nofp -Oz -fomit-frame-pointer ${outlined})
  fw_macho_frames(${arch} Oz_outlined -Oz ${outlined})
  fw_macho_frames(${arch} Oz_outlined_nofp -Oz -fomit-frame-pointer ${outlined})
  fw_macho_frames_cxx(${arch} Oz_outlined -Oz ${outlined})
  fw_macho_frames_cxx(${arch} Oz_outlined_nofp -Oz -fomit-frame-pointer ${outlined})
  # With frame pointers: the host's frames behind a callback give no other register.
  fw_macho_program(${arch} calls O0 MAIN calls.c FLAGS -O0)
  fw_macho_program(${arch} calls O2 MAIN calls.c FLAGS -O2)
endforeach()

fw_macho_frames(x86_64 O3_avx -O3 -mavx2 -mstackrealign)
if(macho_cc_arm64)
  fw_macho_frames(arm64 O2_pac -O2 -mbranch-protection=pac-ret)
  fw_macho_frames(arm64 O0_pac_leaf -O0 -mbranch-protection=pac-ret+leaf)
  fw_macho_frames(arm64 O2_pac_leaf_b_nofp -O2 -mbranch-protection=pac-ret+leaf+b-key -fomit-frame-pointer)
  fw_macho_frames(arm64 Os_pac_83 -Os -march=armv8.3-a -mbranch-protection=pac-ret+leaf)
  fw_macho_frames(arm64 Oz_pac_b_outlined -Oz -mbranch-protection=pac-ret+leaf+b-key ${outlined})
  fw_macho_frames_told(arm64 Oz_pac_b_outlined -Oz -mbranch-protection=pac-ret+leaf+b-key ${outlined})
  fw_macho_frames_told(arm64 Oz_pac_83_outlined_nofp -Oz -fomit-frame-pointer -march=armv8.3-a
    -mbranch-protection=pac-ret ${outlined})
  fw_macho_frames(arm64 O2_pac_no_tables -O2 -mbranch-protection=pac-ret ${no_tables})
  fw_macho_frames_cxx(arm64 O2_pac -O2 -mbranch-protection=pac-ret)
endif()
