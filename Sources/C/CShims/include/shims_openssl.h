// OpenSSL function-like macros, which Swift does not import, as functions.
#ifndef PARLEY_SHIMS_OPENSSL_H
#define PARLEY_SHIMS_OPENSSL_H

#endif
