# Tests of src/watch on Apple platforms, in the Mach-O host.

function(fw_spool_test name)
  fw_test(${name} ${ARGN} watch/spool_support.c)
  target_compile_definitions(test_${name} PRIVATE SPOOL_FOLDERS="${CMAKE_CURRENT_BINARY_DIR}")
endfunction()

fw_spool_test(spool watch/spool_test.c)
fw_test(hang_core watch/hang_core_test.c watch/hand_clock.c)
fw_test(hang_veto watch/hang_veto_test.c watch/hand_clock.c)

if(FW_MACHHOST)
  fw_test(clock_darwin watch/clock_darwin_test.c)
  fw_test(locate_darwin watch/locate_darwin_test.c)
  target_compile_definitions(test_locate_darwin PRIVATE PLUGIN="$<TARGET_FILE:plugin>")
  add_dependencies(test_locate_darwin plugin)

  # Libraries that call another one: bound lazily, and by chained fixups.
  fw_test(bound_pointers_darwin watch/bound_pointers_darwin_test.c)
  add_library(bound_target SHARED watch/bound_target.c)
  target_compile_options(bound_target PRIVATE -fvisibility=default)
  target_include_directories(bound_target PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(kind IN ITEMS lazy chained)
    string(TOUPPER ${kind} definition)
    add_library(bound_module_${kind} SHARED watch/bound_module.c)
    target_include_directories(bound_module_${kind} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(bound_module_${kind} PRIVATE -O1 -fvisibility=default)
    target_link_libraries(bound_module_${kind} PRIVATE bound_target)
    target_compile_definitions(test_bound_pointers_darwin PRIVATE
      MODULE_${definition}="$<TARGET_FILE:bound_module_${kind}>")
    add_dependencies(test_bound_pointers_darwin bound_module_${kind})
  endforeach()
  target_link_options(bound_module_lazy PRIVATE -Wl,-no_fixup_chains)
  target_link_options(bound_module_chained PRIVATE -Wl,-fixup_chains)

  # The main run loop, with a model of CoreFoundation.
  add_library(model_core_foundation SHARED machhost/models/core_foundation.c)
  target_compile_options(model_core_foundation PRIVATE -fvisibility=default -fno-omit-frame-pointer)
  fw_test(run_loop_darwin watch/run_loop_darwin_test.c)
  target_compile_definitions(test_run_loop_darwin PRIVATE MODEL="$<TARGET_FILE:model_core_foundation>"
    REPORTS="${CMAKE_CURRENT_BINARY_DIR}/run_loop_reports")
  add_dependencies(test_run_loop_darwin model_core_foundation)

  # Classes that clang compiles, with a model of the Objective-C runtime.
  add_library(model_objc SHARED machhost/models/objc.c)
  target_compile_options(model_objc PRIVATE -fvisibility=default)
  add_library(objc_classes SHARED watch/objc_classes.m)
  set_source_files_properties(watch/objc_classes.m PROPERTIES LANGUAGE C COMPILE_OPTIONS "-xobjective-c")
  target_compile_options(objc_classes PRIVATE -fvisibility=default)
  target_link_libraries(objc_classes PRIVATE model_objc)
  fw_test(objc_methods_darwin watch/objc_methods_darwin_test.c)
  target_compile_definitions(test_objc_methods_darwin PRIVATE
    RUNTIME="$<TARGET_FILE:model_objc>" CLASSES="$<TARGET_FILE:objc_classes>")
  add_dependencies(test_objc_methods_darwin objc_classes)

  # Groups of names, with classes called like Apple's.
  add_library(privacy_classes SHARED watch/privacy_classes.m)
  set_source_files_properties(watch/privacy_classes.m PROPERTIES LANGUAGE C COMPILE_OPTIONS "-xobjective-c")
  target_compile_options(privacy_classes PRIVATE -fvisibility=default)
  target_link_libraries(privacy_classes PRIVATE model_objc)
  fw_test(privacy_darwin watch/privacy_darwin_test.c)
  target_link_libraries(test_privacy_darwin PRIVATE model_objc)
  target_compile_definitions(test_privacy_darwin PRIVATE CLASSES="$<TARGET_FILE:privacy_classes>")
  add_dependencies(test_privacy_darwin privacy_classes)

  # Sending, with a model of Foundation's loading of URLs.
  add_library(model_foundation SHARED machhost/models/foundation.m machhost/models/foundation_threads.m
    machhost/models/messages.c machhost/models/messages.S)
  set_source_files_properties(machhost/models/foundation.m machhost/models/foundation_threads.m PROPERTIES LANGUAGE C COMPILE_OPTIONS "-xobjective-c")
  target_compile_options(model_foundation PRIVATE -fvisibility=default)
  target_include_directories(model_foundation PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/apple/include)
  fw_test(upload_session_darwin watch/upload_session_darwin_test.c ${PROJECT_SOURCE_DIR}/src/watch/upload_retry_after.c
    ${PROJECT_SOURCE_DIR}/src/watch/upload_session_darwin.m)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/watch/upload_session_darwin.m PROPERTIES LANGUAGE C
    COMPILE_OPTIONS "-xobjective-c;-fobjc-arc")
  target_include_directories(test_upload_session_darwin PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/apple/include)
  target_link_libraries(test_upload_session_darwin PRIVATE model_foundation)

  # The header for programs that have Foundation.
  fw_test(foundation capture/foundation_test.m)
  set_source_files_properties(capture/foundation_test.m PROPERTIES LANGUAGE C
    COMPILE_OPTIONS "-xobjective-c;-fobjc-arc;-fno-objc-exceptions;-fno-exceptions")
  target_include_directories(test_foundation PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/apple/include)
  target_link_libraries(test_foundation PRIVATE model_foundation)

  add_library(calls_target SHARED watch/calls_target.c)
  target_include_directories(calls_target PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  fw_test(calls_darwin watch/calls_darwin_test.c)
  target_link_libraries(test_calls_darwin PRIVATE calls_target)
  target_compile_options(test_calls_darwin PRIVATE -fno-builtin)
  target_compile_definitions(test_calls_darwin PRIVATE
    MODULE_CHAINED="$<TARGET_FILE:bound_module_chained>" CLASSES="$<TARGET_FILE:objc_classes>")
  add_dependencies(test_calls_darwin bound_module_chained objc_classes)

  foreach(records IN ITEMS 0 1)
    set(name calls_shapes_${records})
    fw_test(${name} watch/calls_shapes_test.c)
    target_compile_definitions(test_${name} PRIVATE SHAPES_RECORDS=${records} SHAPES_CALLS=2000)
    target_compile_options(test_${name} PRIVATE -fno-optimize-sibling-calls -fno-omit-frame-pointer)
    target_link_libraries(test_${name} PRIVATE calls_target)
  endforeach()
endif()
