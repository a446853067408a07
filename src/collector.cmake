# The collector: a program of its own, with libraries that nothing else needs.
pkg_check_modules(COLLECTOR_NEEDS REQUIRED IMPORTED_TARGET
  libmicrohttpd>=0.9.75 sqlite3 libpq libcrypto libzstd zlib)
set(FW_COLLECTOR
  collector/access.c
  collector/access_scopes.c
  collector/access_store.c
  collector/api_access.c
  collector/api_calls.c
  collector/api_calls_allow.c
  collector/api_calls_diff.c
  collector/api_damaged.c
  collector/api_download.c
  collector/api_failed.c
  collector/api_flame.c
  collector/api_flame_cache.c
  collector/api_frames.c
  collector/api_group_actions.c
  collector/api_group_numbers.c
  collector/api_group_rows.c
  collector/api_group_stacks.c
  collector/api_groups.c
  collector/api_json.c
  collector/api_limits.c
  collector/api_openapi.c
  collector/api_overview.c
  collector/api_report.c
  collector/api_reports.c
  collector/api_rules.c
  collector/api_scope.c
  collector/api_server.c
  collector/api_settings.c
  collector/api_source.c
  collector/api_symbolicate.c
  collector/api_symbols.c
  collector/api_versions.c
  collector/backup.c
  collector/blobs.c
  collector/blobs_cache.c
  collector/blobs_files.c
  collector/blobs_s3.c
  collector/blobs_sweep.c
  collector/brought_names.c
  collector/calls_groups.c
  collector/calls_sums.c
  collector/calls_table.c
  collector/clock.c
  collector/clock_check.c
  collector/clock_keeper.c
  collector/damage.c
  collector/data_folder.c
  collector/db.c
  collector/db_binary.c
  collector/db_cache.c
  collector/db_checkpoint.c
  collector/db_many.c
  collector/db_migrate.c
  collector/db_postgres.c
  collector/db_postgres_open.c
  collector/db_postgres_pipe.c
  collector/db_sqlite.c
  collector/db_sqlite_copy.c
  collector/db_sqlite_open.c
  collector/digest.c
  collector/digest_hang.c
  collector/digest_names.c
  collector/digest_stacks.c
  collector/files.c
  collector/flame_tree.c
  collector/forget.c
  collector/forget_pack.c
  collector/generation.c
  collector/group_sums.c
  collector/grouping.c
  collector/grouping_builtin.c
  collector/grouping_marks.c
  collector/grouping_names.c
  collector/grouping_rules.c
  collector/grouping_scan.c
  collector/grouping_text.c
  collector/groups.c
  collector/groups_actions.c
  collector/groups_fixed.c
  collector/groups_jobs.c
  collector/groups_move.c
  collector/groups_preview.c
  collector/groups_rekey.c
  collector/groups_rekey_targets.c
  collector/groups_rest.c
  collector/health.c
  collector/heavy.c
  collector/http.c
  collector/http_body.c
  collector/http_check.c
  collector/http_clients.c
  collector/http_head.c
  collector/http_log.c
  collector/http_parse.c
  collector/http_peer.c
  collector/http_pool.c
  collector/http_reply.c
  collector/http_request.c
  collector/http_unpack.c
  collector/id_map.c
  collector/import.c
  collector/install.c
  collector/install_hash.c
  collector/intake.c
  collector/intake_await.c
  collector/intake_http.c
  collector/intake_ids.c
  collector/intake_ids_stacks.c
  collector/intake_limits.c
  collector/intake_project.c
  collector/intake_sums.c
  collector/intake_worker.c
  collector/intake_write.c
  collector/job_kinds.c
  collector/jobs.c
  collector/jobs_table.c
  collector/keep_settings.c
  collector/log.c
  collector/metrics.c
  collector/packs.c
  collector/page.c
  collector/rate_limits.c
  collector/report_lines.c
  collector/restore.c
  collector/retention.c
  collector/retention_bodies.c
  collector/retention_rows.c
  collector/routes.c
  collector/s3_attempt.c
  collector/s3_request.c
  collector/s3_settings.c
  collector/s3_tidy.c
  collector/s3_xml.c
  collector/sandbox.c
  collector/schema.c
  collector/scrub.c
  collector/scrub_job.c
  collector/serve_check.c
  collector/serve_options.c
  collector/server.c
  collector/source_store.c
  collector/sources.c
  collector/stack_code.c
  collector/stack_group.c
  collector/stack_grouper.c
  collector/stack_key.c
  collector/store_check.c
  collector/symbol_files.c
  collector/symbol_layout.c
  collector/symbol_paths.c
  collector/symbol_store.c
  collector/symbol_verify.c
  collector/symbols.c
  collector/symbols_image.c
  collector/symbols_report.c
  collector/symbols_stack.c
  collector/token_request.c
  collector/upload_child.c
  collector/upload_job.c
  collector/upload_metadata.c
  collector/upload_parts.c
  collector/upload_store.c
  collector/upload_sweep.c
  collector/uploads.c
  collector/uploads_part.c
  collector/version_store.c
  collector/versions.c
  # What the library has on Apple's systems alone.
  watch/privacy.c
  watch/privacy_data.c
  )
include(${PROJECT_SOURCE_DIR}/cmake/page.cmake)
add_library(framewalk_collector OBJECT ${FW_COLLECTOR} ${FW_PAGE_SOURCE})
set_source_files_properties(collector/api_openapi.c PROPERTIES
  COMPILE_DEFINITIONS FW_OPENAPI="${PROJECT_SOURCE_DIR}/docs/openapi.yaml"
  OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/docs/openapi.yaml)
set_source_files_properties(collector/grouping_builtin.c PROPERTIES
  COMPILE_DEFINITIONS FW_GROUPING_RULES="${CMAKE_CURRENT_SOURCE_DIR}/collector/grouping_builtin.rules"
  OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector/grouping_builtin.rules)
target_include_directories(framewalk_collector PUBLIC ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(framewalk_collector PUBLIC _GNU_SOURCE FW_VERSION="${PROJECT_VERSION}")
target_link_libraries(framewalk_collector PUBLIC framewalk_codecs framewalk_demangle
  PkgConfig::COLLECTOR_NEEDS PkgConfig::LIBCURL PkgConfig::LIBARCHIVE PkgConfig::JANSSON Threads::Threads ${CMAKE_DL_LIBS})

add_executable(framewalk_collector_program collector/main.c)
set_target_properties(framewalk_collector_program PROPERTIES OUTPUT_NAME framewalk-collector)
target_link_libraries(framewalk_collector_program PRIVATE framewalk_collector framewalk_symbols_core framewalk_core)

# What reads foreign debug files for it, behind walls: as few libraries as can be.
pkg_check_modules(LIBSECCOMP REQUIRED IMPORTED_TARGET libseccomp)
add_library(framewalk_lockdown OBJECT collector/lockdown.c)
target_include_directories(framewalk_lockdown PUBLIC ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(framewalk_lockdown PRIVATE _GNU_SOURCE)
target_link_libraries(framewalk_lockdown PUBLIC PkgConfig::LIBSECCOMP)
add_executable(framewalk_converter collector/converter.c collector/source_bundle.c)
set_target_properties(framewalk_converter PROPERTIES OUTPUT_NAME framewalk-converter)
target_compile_definitions(framewalk_converter PRIVATE _GNU_SOURCE)
target_link_libraries(framewalk_converter PRIVATE framewalk_unpack framewalk_lockdown framewalk_symbols_core
  framewalk_core PkgConfig::JANSSON)
add_dependencies(framewalk_collector_program framewalk_converter)
