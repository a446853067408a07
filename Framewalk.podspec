# Framewalk as a pod, from a checkout: pod 'Framewalk', :path => '...' or :git => '...'.
# The list between the marks is what CMake builds for Apple: packaging/apple/lists.sh writes it, the test
# `apple_lists` compares it.
checkout = "file://#{__dir__}"

Pod::Spec.new do |s|
  s.name = 'Framewalk'
  s.version = '0.1.0'
  s.summary = 'What every thread of a program is doing, who called what, and why it hangs'
  s.homepage = checkout
  s.license = { :type => 'Apache-2.0', :file => 'LICENSE' }
  s.author = 'Framewalk'
  s.source = { :git => checkout, :tag => "v#{s.version}" }

  s.ios.deployment_target = '12.0'
  s.osx.deployment_target = '10.14'
  s.tvos.deployment_target = '12.0'
  s.watchos.deployment_target = '5.0'

  s.default_subspecs = 'Core'

  s.subspec 'Core' do |core|
    core.source_files = [
      'include/framewalk/*.h',
      # begin: sources
      'src/arch/aarch64.c',
      'src/arch/arch.c',
      'src/arch/arm.c',
      'src/arch/i386.c',
      'src/arch/x86_64.c',
      'src/base/crc32c.c',
      'src/base/error.c',
      'src/base/failure.c',
      'src/capture/collect_mach.c',
      'src/capture/collect_room.c',
      'src/capture/frame_pointers.c',
      'src/capture/image_filter.c',
      'src/capture/named_stack.c',
      'src/capture/names.c',
      'src/capture/names_darwin.c',
      'src/capture/self.c',
      'src/capture/shared_names.c',
      'src/capture/stack_names.c',
      'src/capture/stack_table.c',
      'src/capture/stack_text.c',
      'src/capture/text.c',
      'src/capture/threads.c',
      'src/object/code_bounds.c',
      'src/object/export_trie.c',
      'src/object/extents.c',
      'src/object/macho_commands.c',
      'src/object/macho_loaded.c',
      'src/object/macho_tables.c',
      'src/object/symbols.c',
      'src/object/symbols_loaded.c',
      'src/os/darwin/image_table.c',
      'src/os/darwin/prepared.c',
      'src/os/darwin/queue_label.c',
      'src/os/darwin/self_context.c',
      'src/os/darwin/self_images.c',
      'src/os/darwin/self_maps.c',
      'src/os/darwin/self_stack.c',
      'src/os/darwin/stop.c',
      'src/os/darwin/threads.c',
      'src/os/darwin/window.c',
      'src/os/darwin/writable.c',
      'src/os/self_stack.c',
      'src/report/fwr_functions.c',
      'src/report/fwr_record.c',
      'src/report/fwr_scripts.c',
      'src/report/fwr_survey.c',
      'src/report/fwr_text.c',
      'src/report/fwr_tree.c',
      'src/report/fwr_write.c',
      'src/report/own_image.c',
      'src/unwind/analysis.c',
      'src/unwind/analysis_aarch64.c',
      'src/unwind/analysis_arm.c',
      'src/unwind/analysis_x86.c',
      'src/unwind/arm_decode.c',
      'src/unwind/async.c',
      'src/unwind/cfi.c',
      'src/unwind/cfi_entry.c',
      'src/unwind/cfi_index.c',
      'src/unwind/cfi_program.c',
      'src/unwind/compact.c',
      'src/unwind/compact_aarch64.c',
      'src/unwind/compact_arm.c',
      'src/unwind/compact_x86.c',
      'src/unwind/exidx.c',
      'src/unwind/expr.c',
      'src/unwind/function_starts.c',
      'src/unwind/memory.c',
      'src/unwind/rule.c',
      'src/unwind/sigframe.c',
      'src/unwind/sigframe_arm.c',
      'src/unwind/sigframe_darwin.c',
      'src/unwind/sigframe_x86.c',
      'src/unwind/simulate.c',
      'src/unwind/simulate_find.c',
      'src/unwind/simulate_parts.c',
      'src/unwind/step.c',
      'src/unwind/step_without_info.c',
      'src/unwind/stubs_macho.c',
      'src/unwind/thumb_decode.c',
      'src/unwind/walk.c',
      'src/unwind/x86_decode.c',
      'src/unwind/x86_effects.c',
      'src/unwind/x86_trace.c',
      'src/watch/background_darwin.c',
      'src/watch/bound_pointers_darwin.c',
      'src/watch/calls.c',
      'src/watch/calls_busy.c',
      'src/watch/calls_callers.c',
      'src/watch/calls_groups_darwin.c',
      'src/watch/calls_loader_darwin.c',
      'src/watch/calls_note.c',
      'src/watch/calls_recipe.c',
      'src/watch/calls_report.c',
      'src/watch/calls_slow.c',
      'src/watch/calls_table.c',
      'src/watch/clock_darwin.c',
      'src/watch/hang.c',
      'src/watch/hang_annealing.c',
      'src/watch/hang_core.c',
      'src/watch/hang_exit.c',
      'src/watch/hang_loops.c',
      'src/watch/hang_marks.c',
      'src/watch/hang_pace.c',
      'src/watch/hang_report.c',
      'src/watch/hang_samples.c',
      'src/watch/hang_sites.c',
      'src/watch/hang_system_darwin.c',
      'src/watch/hang_thread.c',
      'src/watch/hang_veto.c',
      'src/watch/locate_darwin.c',
      'src/watch/objc_methods_darwin.c',
      'src/watch/own_names.c',
      'src/watch/privacy.c',
      'src/watch/privacy_data.c',
      'src/watch/run_loop_darwin.c',
      'src/watch/session.c',
      'src/watch/session_about.c',
      'src/watch/spool.c',
      'src/watch/spool_folder.c',
      'src/watch/spool_recover.c',
      'src/watch/spool_room.c',
      'src/watch/spool_state.c',
      'src/watch/thunk_aarch64.S',
      'src/watch/thunk_arm.S',
      'src/watch/thunk_i386.S',
      'src/watch/thunk_x86_64.S',
      'src/watch/thunks.c',
      # end: sources
    ]
    core.exclude_files = 'include/framewalk/{hang_glib,hang_uv,process,symbolicate,upload}.h' # as in include/module.modulemap
    core.resource_bundles = { 'Framewalk' => ['packaging/apple/PrivacyInfo.xcprivacy'] }
  end

  s.subspec 'Upload' do |upload|
    upload.dependency 'Framewalk/Core'
    upload.source_files = [
      'include/framewalk/upload.h',
      # begin: upload sources
      'src/watch/upload.c',
      'src/watch/upload_answer.c',
      'src/watch/upload_backoff.c',
      'src/watch/upload_body.c',
      'src/watch/upload_folder.c',
      'src/watch/upload_pass.c',
      'src/watch/upload_retry_after.c',
      'src/watch/upload_send.c',
      'src/watch/upload_session_darwin.m',
      'src/watch/upload_settings.c',
      # end: upload sources
    ]
    upload.frameworks = 'Foundation'
    upload.libraries = 'z'
  end

  s.public_header_files = 'include/framewalk/*.h'
  s.preserve_paths = 'src/**/*.h'
  s.header_dir = 'framewalk'
  s.pod_target_xcconfig = {
    'GCC_C_LANGUAGE_STANDARD' => 'gnu11',
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)/include" "$(PODS_TARGET_SRCROOT)/src"'
  }
end
