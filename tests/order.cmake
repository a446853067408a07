# Which tests are the fast set, and when tests run. Every folder with tests calls fw_order_tests when it is read.
#
# The fast set is what `./run test` runs: in five minutes on a bare machine of two processors, with installing and building.
# A test is in it unless it stands here with five seconds or more, or needs what is not installed for it. So a new test is
# in it until somebody measures what it costs. All others have the label `slow`; `./run test --all` runs both.

# Seconds on two processors. The longest begin first, so that none is left over at the end; who is not named takes a few.
set(fw_costs
  apple_headers:7 apple_system:120 apple_targets:25 async:10 blobs:8 blobs_faults:8 blobs_faults_s3:40 collector_access_postgres:8 collector_api:15
  collector_backup:25 collector_cluster:80 collector_edge:7 collector_faults:80 collector_faults_converter:15 collector_forget:25
  collector_forget_postgres:25 collector_forget_s3:25 collector_hostile:20 collector_http:40 collector_intake:8
  collector_keep_kill:10 collector_keep_kill_postgres:15 collector_keep_kill_s3:15 collector_kill_http:25 collector_loop:10 collector_plans:45
  collector_push_files:25 collector_retention:15 collector_retention_postgres:20 collector_retention_s3:15 collector_serve:15
  collector_sources:20 collector_uploads:25 convert:15 db_faults:10 db_postgres:15 db_faults_postgres:15 debuginfod:8
  docs_readme:15 dwarf_programs:60 exactness_debug_maps:15 exactness_macho:15 find_files:8 flatten_programs:20 groups:6 groups_postgres:15
  hang_real:10 install:10 jobs:8 jobs_postgres:15 object_debug_sections:10 object_image:10 object_macho_real:15 object_symbols:6
  page:90 report_consumers:40 run_cpython:90 run_leaves:20 run_loops:20 run_namespaces:20 run_plugins:6
  run_python:15 run_sanitizers:40 sandbox:8 self_builds:20 spool_faults:25 symbolicate_command:15
  symmap_verify:15 threads_callers:10 threads_locks:10 upload:10 upload_server:25 window_targets:8)
# The only tests of their part, or of what a newcomer does first.
set(fw_fast_anyway collector_api groups hang_real install run_python)
# A database server, a browser, nginx, GTK, Node, another C library, compilers of other processors.
set(fw_needs_more "_(postgres|s3|versitygw|musl|arm)$|^page$|^run_(gtk|nginx|node)$|^oracle_macho_arm64_")
# Of the many programs that differ in how they were compiled, the fast set has a few.
set(fw_many_alike "^oracle_macho_")
set(fw_few_of_them "^oracle_macho_x86_64_(frames_(O0|O2_nofp|Os|O2_no_tables)|frames_cxx_O2|frames_told_O2_split|calls_O2)$")

# Not again under a sanitizer: what compares many answers of code that other tests run there, and what differs from a test
# that runs there by its database or blob store alone.
set(fw_once "^(one_answer|symmap_verify|report_consumers|exactness_.*|collector_plans|collector_openapi|docs_.*)$"
  "^(collector|groups)_.*_(postgres|s3|versitygw)$")

# fw_is_slow(RESULT NAME SECONDS)
function(fw_is_slow result name seconds)
  set(slow FALSE)
  if(name MATCHES "${fw_needs_more}")
    set(slow TRUE)
  elseif(name MATCHES "${fw_many_alike}")
    if(NOT name MATCHES "${fw_few_of_them}")
      set(slow TRUE)
    endif()
  elseif(seconds GREATER_EQUAL 5 AND NOT name IN_LIST fw_fast_anyway)
    set(slow TRUE)
  endif()
  set(${result} ${slow} PARENT_SCOPE)
endfunction()

function(fw_order_tests)
  get_property(names DIRECTORY PROPERTY TESTS)
  foreach(name IN LISTS names)
    set(seconds 0)
    if("${fw_costs}" MATCHES "(^|;)${name}:([0-9]+)")
      set(seconds ${CMAKE_MATCH_2})
      set_tests_properties(${name} PROPERTIES COST ${seconds})
    endif()
    fw_is_slow(slow ${name} ${seconds})
    if(FW_SANITIZE)
      foreach(pattern IN LISTS fw_once)
        if(name MATCHES "${pattern}")
          set_tests_properties(${name} PROPERTIES DISABLED TRUE)
        endif()
      endforeach()
    endif()
    if(slow)
      set_property(TEST ${name} APPEND PROPERTY LABELS slow)
      foreach(target IN ITEMS test_${name} ${name}) # its program, or the target that makes it
        if(FW_FAST AND TARGET ${target})
          set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
        endif()
      endforeach()
    endif()
  endforeach()
  # The monitor's own, on the real clock: what does not get its processor for long is no hang. ./run test has room for twice
  # as many tests as there are processors; with one of these there is at most one other on a machine of two.
  foreach(name IN ITEMS run_loops run_gtk run_node run_python run_nginx hang_real hang_glib hang_uv collector_loop
      docs_readme docs_run)
    if(name IN_LIST names)
      set_tests_properties(${name} PROPERTIES PROCESSORS 3)
    endif()
  endforeach()
endfunction()
