// Keeps libcrypto from clearing up when a process exits, in the programs that run.sh builds for the address sanitizer.
//
// At exit libcrypto deletes the thread-specific keys under which each thread has its errors and its random generators. A thread that
// ends between that and LeakSanitizer's look, which comes last, frees nothing, and what it had is reported: 904 bytes and twice 40.
// Without the clearing up every thread frees its own, and what the library itself keeps is found through its globals.
#include <stdint.h>

#define OPENSSL_INIT_NO_ATEXIT 0x00080000

// Weak: programs that do not use libcrypto have nothing to keep.
extern int OPENSSL_init_crypto(uint64_t options, const void *settings) __attribute__((weak));

__attribute__((constructor)) static void keep_libcrypto(void) {
  if (OPENSSL_init_crypto) OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, 0);
}
