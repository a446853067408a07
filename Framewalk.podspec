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

  s.source_files = [
    'include/framewalk/*.h',
    # begin: sources
    # end: sources
  ]
  s.exclude_files = 'include/framewalk/{process,symbolicate}.h' # as in include/module.modulemap
  s.public_header_files = 'include/framewalk/*.h'
  s.preserve_paths = 'src/**/*.h'
  s.header_dir = 'framewalk'
  s.pod_target_xcconfig = {
    'GCC_C_LANGUAGE_STANDARD' => 'gnu11',
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)/include" "$(PODS_TARGET_SRCROOT)/src"'
  }
  s.resource_bundles = { 'Framewalk' => ['packaging/apple/PrivacyInfo.xcprivacy'] }
end
