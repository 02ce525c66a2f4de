#ifndef PARLEY_CSHIMS_H
#define PARLEY_CSHIMS_H

#include "shims_openssl.h"
#include "shims_process.h"
#include "shims_subprocess.h"
#include "shims_system.h"

#endif
