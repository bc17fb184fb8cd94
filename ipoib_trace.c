// SPDX-License-Identifier: GPL-2.0
/*
 * The one place where the trace events of ipoib_trace.h are made.
 */
#define CREATE_TRACE_POINTS
#include "ipoib_trace.h"
