/* Availability as attributes of declarations; the compiler knows the deployment target by the
 * triple. */
#ifndef MACHHOST_AVAILABILITY_H
#define MACHHOST_AVAILABILITY_H

#include <AvailabilityMacros.h>

#if defined(__APPLE__)
#define __API_A(platform, version) __attribute__((availability(platform, introduced = version)))
#define __API_U(platform)          __attribute__((availability(platform, unavailable)))
#else /* the host's loader */
#define __API_A(platform, version)
#define __API_U(platform)
#endif
#define __WATCHOS_PROHIBITED __API_U(watchos)
#define __TVOS_PROHIBITED    __API_U(tvos)
#define __IOS_PROHIBITED     __API_U(ios)
#define __OSX_AVAILABLE_STARTING(osx, ios)
#define __OS_AVAILABILITY(...)

#endif
