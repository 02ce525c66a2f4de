// What ThreadSanitizer does not see of a continuation that is resumed before its task has suspended, told to it.
//
// Resuming releases the task for ThreadSanitizer, always; running a task that had suspended acquires it. A task that finds its
// continuation resumed already goes straight on, and there the concurrency runtime forgets to acquire: whatever the resuming thread
// wrote before would be reported.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void __tsan_acquire(void *address);

#define ASYNC __attribute__((swiftasynccall))
#define CONTEXT __attribute__((swift_async_context))

struct continuation;
typedef ASYNC void (*resume_function)(CONTEXT struct continuation *context);
typedef ASYNC void (*await_function)(struct continuation *context);

// The head of ContinuationAsyncContext, which compiled code lays out: part of the ABI.
struct continuation {
  void *parent;
  resume_function resume;
  size_t flags;
};

// Goes on by way of another executor, perhaps on another thread. The compiler sets it for Objective-C alone.
#define SWITCHES_EXECUTOR 2

__attribute__((swiftcall)) void *swift_task_getCurrent(void);

// Nothing runs on this thread between the two functions below when the second follows the first.
static _Thread_local resume_function resumed_at_once;

// Only the task that goes straight on comes here: one that suspends took the function to resume at beforehand.
ASYNC static void resume_at_once(CONTEXT struct continuation *context) {
  __tsan_acquire(swift_task_getCurrent());
  resume_function resume = resumed_at_once;
  context->resume = resume;
  __attribute__((musttail)) return resume(context);
}

ASYNC void swift_continuation_await(struct continuation *context) {
  if (!(context->flags & SWITCHES_EXECUTOR)) {
    resumed_at_once = context->resume;
    context->resume = resume_at_once;
  }
  await_function await = (await_function)dlsym(RTLD_NEXT, "swift_continuation_await");
  __attribute__((musttail)) return await(context);
}
