/* What the triple says, as 0 or 1: the names that Apple's header of this name defines. */
#ifndef MACHHOST_TARGETCONDITIONALS_H
#define MACHHOST_TARGETCONDITIONALS_H

#define TARGET_OS_MAC     1
#define TARGET_OS_UNIX    0
#define TARGET_OS_LINUX   0
#define TARGET_OS_WINDOWS 0

#if __is_target_os(ios)
#define TARGET_OS_IOS 1
#else
#define TARGET_OS_IOS 0
#endif
#if __is_target_os(tvos)
#define TARGET_OS_TV 1
#else
#define TARGET_OS_TV 0
#endif
#if __is_target_os(watchos)
#define TARGET_OS_WATCH 1
#else
#define TARGET_OS_WATCH 0
#endif
#if __is_target_os(xros)
#define TARGET_OS_VISION 1
#else
#define TARGET_OS_VISION 0
#endif
#if TARGET_OS_IOS || TARGET_OS_TV || TARGET_OS_WATCH || TARGET_OS_VISION
#define TARGET_OS_IPHONE 1
#define TARGET_OS_OSX    0
#else
#define TARGET_OS_IPHONE 0
#define TARGET_OS_OSX    1
#endif
#if __is_target_environment(simulator)
#define TARGET_OS_SIMULATOR 1
#else
#define TARGET_OS_SIMULATOR 0
#endif
#if __is_target_environment(macabi)
#define TARGET_OS_MACCATALYST 1
#else
#define TARGET_OS_MACCATALYST 0
#endif
#define TARGET_OS_EMBEDDED      (TARGET_OS_IPHONE && !TARGET_OS_SIMULATOR)
#define TARGET_IPHONE_SIMULATOR TARGET_OS_SIMULATOR

#if defined(__x86_64__)
#define TARGET_CPU_X86_64 1
#else
#define TARGET_CPU_X86_64 0
#endif
#if defined(__i386__)
#define TARGET_CPU_X86 1
#else
#define TARGET_CPU_X86 0
#endif
#if defined(__arm64__)
#define TARGET_CPU_ARM64 1
#else
#define TARGET_CPU_ARM64 0
#endif
#if defined(__arm__)
#define TARGET_CPU_ARM 1
#else
#define TARGET_CPU_ARM 0
#endif

#define TARGET_RT_LITTLE_ENDIAN 1
#define TARGET_RT_BIG_ENDIAN    0
#if defined(__LP64__)
#define TARGET_RT_64_BIT 1
#else
#define TARGET_RT_64_BIT 0
#endif

#endif
