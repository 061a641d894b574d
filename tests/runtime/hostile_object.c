/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Objects that no compiler of plans makes, one for each macro: loading most of
 * them would run code.
 */
#include "plan/fragment_abi.h"

#if defined(HOSTILE_CONSTRUCTOR) || defined(HOSTILE_DESTRUCTOR)
#ifdef HOSTILE_CONSTRUCTOR
__attribute__((constructor))
#else
__attribute__((destructor))
#endif
static void ran(void) {
#ifdef HOSTILE_MARK /* a file to make, without a library */
  __asm__ volatile("syscall"
                   :
                   : "a"(85 /* creat */), "D"(HOSTILE_MARK), "S"(0600)
                   : "rcx", "r11", "memory");
#endif
}
#endif

#ifdef HOSTILE_IFUNC
static void chosen(struct CsFragmentContext *c, void **b) { (void)c, (void)b; }
static void *choose(void) { return (void *)chosen; }
void by_code(struct CsFragmentContext *c, void **b) __attribute__((ifunc("choose")));
#endif

#ifdef HOSTILE_LOCAL_IFUNC
static void chosen(struct CsFragmentContext *c, void **b) { (void)c, (void)b; }
static void *choose(void) { return (void *)chosen; }
static void by_code(struct CsFragmentContext *c, void **b) __attribute__((ifunc("choose")));
void (*volatile through)(struct CsFragmentContext *, void **) = by_code;
#endif

#ifdef HOSTILE_IMPORT
extern int system(const char *);
#endif

#ifdef HOSTILE_THREAD_LOCAL
__thread int own;
#endif

void fragment(struct CsFragmentContext *context, void **buffers) {
  (void)context, (void)buffers;
#ifdef HOSTILE_IMPORT
  system("true");
#endif
#ifdef HOSTILE_THREAD_LOCAL
  own = 1;
#endif
}
