/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface alone: it says why bytes are no plan. */
#include <stdio.h>

#include "runtime/c_api/c_api.h"

int main(void) {
  if (cs_session_create("no plan", 7) != NULL) return 1;
  const char *why = cs_last_error();
  printf("refused: %s\n", why);
  return *why == '\0';
}
