// SPDX-License-Identifier: BSD-2-Clause

// Package rlimit stands for the profiler's own, which ends it where RLIMIT_MEMLOCK cannot be raised; kernels
// that count BPF memory by control group (5.11) need it not. Nothing else of the profiler is changed.
package rlimit

// MaximizeMemlock leaves the limit as it is.
func MaximizeMemlock() (func(), error) { return func() {}, nil }
