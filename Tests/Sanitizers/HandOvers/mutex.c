// What ThreadSanitizer does not see of Swift's Mutex, told to it.
//
// A free Mutex is taken and given back by an atomic in the caller's own, instrumented code. Once a second thread wants it, that is
// done by libswiftSynchronization, which is not instrumented, so that all that a contended Mutex guards would be reported. These
// stand before the library's functions of the same names, in the programs that run.sh builds for the thread sanitizer and nowhere
// else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// _MutexHandle._lockSlow(UInt32), _tryLockSlow() -> Bool, _unlockSlow(): module Synchronization of Swift 6, on Linux.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*lock_function)(uint32_t thread, SELF void *handle);
typedef SWIFT bool (*try_lock_function)(SELF void *handle);
typedef SWIFT void (*unlock_function)(SELF void *handle);

SWIFT void parley_lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT bool parley_try_lock_slow(SELF void *handle) __asm__(TRY_LOCK);
SWIFT void parley_unlock_slow(SELF void *handle) __asm__(UNLOCK);

SWIFT void parley_lock_slow(uint32_t thread, SELF void *handle) {
  ((lock_function)dlsym(RTLD_NEXT, LOCK))(thread, handle);
  __tsan_acquire(handle);
}

SWIFT bool parley_try_lock_slow(SELF void *handle) {
  bool locked = ((try_lock_function)dlsym(RTLD_NEXT, TRY_LOCK))(handle);
  if (locked) __tsan_acquire(handle);
  return locked;
}

SWIFT void parley_unlock_slow(SELF void *handle) {
  __tsan_release(handle);
  ((unlock_function)dlsym(RTLD_NEXT, UNLOCK))(handle);
}
