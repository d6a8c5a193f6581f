#pragma once

// Some builds of OpenBLAS prefix every symbol, so that several copies can coexist in one process, and define
// BLAS_SYMBOL_PREFIX. This header adds that prefix to every name that lapack.cpp calls; a name missing from the list
// fails to compile or to link.

#if defined(BLAS_SYMBOL_PREFIX)

#define HEADSCOPE_JOIN(prefix, name) prefix##name
#define HEADSCOPE_EXPAND(prefix, name) HEADSCOPE_JOIN(prefix, name)
#define HEADSCOPE_BLAS(name) HEADSCOPE_EXPAND(BLAS_SYMBOL_PREFIX, name)

#define cblas_sgemm HEADSCOPE_BLAS(cblas_sgemm)
#define cblas_dgemm HEADSCOPE_BLAS(cblas_dgemm)
#define cblas_ssyrk HEADSCOPE_BLAS(cblas_ssyrk)
#define cblas_dsyrk HEADSCOPE_BLAS(cblas_dsyrk)
#define cblas_dtrsm HEADSCOPE_BLAS(cblas_dtrsm)
#define dgesdd_ HEADSCOPE_BLAS(dgesdd_)
#define dormtr_ HEADSCOPE_BLAS(dormtr_)
#define dpotrf_ HEADSCOPE_BLAS(dpotrf_)
#define dstemr_ HEADSCOPE_BLAS(dstemr_)
#define dsterf_ HEADSCOPE_BLAS(dsterf_)
#define dsyevd_ HEADSCOPE_BLAS(dsyevd_)
#define dsytrd_ HEADSCOPE_BLAS(dsytrd_)
#define dtrtri_ HEADSCOPE_BLAS(dtrtri_)
#define openblas_get_corename HEADSCOPE_BLAS(openblas_get_corename)
#define openblas_set_num_threads HEADSCOPE_BLAS(openblas_set_num_threads)

#endif
