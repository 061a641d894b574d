# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of jax.numpy, jax.ops and jax.scipy test_sweep.py tries: name -> Case."""

import jax
import jax.numpy as jnp
import numpy as np

from sweep_lax import B, F, I, M, N, P, S, T, U, V, case, plain, refused

G = np.sort(V)
A = np.array([2, 0, 1, 1, 3, 0, 2], np.int32)
LOOSE = {"rtol": 1e-3, "atol": 1e-3}  # what is divided by pivots

# One array in, arrays out; with a derivative.
SMOOTH = {name: case(getattr(jnp, name), F) for name in (
    "abs absolute add.reduce amax amin angle arctan arcsinh atleast_1d atleast_2d atleast_3d average cbrt ceil copy cos cosh cumprod cumsum "
    "deg2rad degrees diag diagflat diagonal diff ediff1d exp exp2 expm1 fabs fix fliplr flipud flip floor gradient matrix_transpose max mean "
    "median min nanmax nanmean nanmin nanprod nanstd nansum nanvar negative nancumsum positive prod ptp rad2deg radians ravel real rint "
    "rot90 sign sin sinc sinh sort sort square squeeze std sum swapaxes_ tanh trace transpose tril triu trunc unwrap var").split()
    if hasattr(jnp, name)}
SMOOTH |= {
    "arccos": case(jnp.arccos, U), "arcsin": case(jnp.arcsin, U), "arccosh": case(jnp.arccosh, P + 1), "arctanh": case(jnp.arctanh, U),
    "log": case(jnp.log, P), "log10": case(jnp.log10, P), "log1p": case(jnp.log1p, P), "log2": case(jnp.log2, P), "sqrt": case(jnp.sqrt, P),
    "tan": case(jnp.tan, U), "reciprocal": case(jnp.reciprocal, P), "i0": case(jnp.i0, F, rtol=1e-4), "logaddexp": case(jnp.logaddexp, F, P),
    "arctan2": case(jnp.arctan2, F, P), "logaddexp2": case(jnp.logaddexp2, F, P), "hypot": case(jnp.hypot, F, P), "power": case(jnp.power, P, F),
    "float_power": case(jnp.float_power, P, F), "maximum": case(jnp.maximum, F, U), "minimum": case(jnp.minimum, F, U),
    "fmax": case(jnp.fmax, F, U), "fmin": case(jnp.fmin, F, U), "mod": case(jnp.mod, F, P), "fmod": case(jnp.fmod, F, P),
    "remainder": case(jnp.remainder, F, P), "divmod": plain(jnp.divmod, F, P), "divmod_i": plain(lambda a, b: jnp.divmod(a, b + 1), I, N),
    "copysign": case(jnp.copysign, P, F), "heaviside": plain(jnp.heaviside, F, P), "ldexp": plain(jnp.ldexp, F, N), "frexp": plain(jnp.frexp, F),
    "modf": plain(jnp.modf, F), "nextafter": plain(jnp.nextafter, F, P), "spacing": plain(jnp.spacing, F), "clip": case(lambda x: jnp.clip(x, -0.5, 0.7), F),
    "round": plain(lambda x: jnp.round(x, 2), F), "nan_to_num": plain(jnp.nan_to_num, S), "where": case(lambda a, b: jnp.where(B, a, b), F, P),
    "select": case(lambda a, b: jnp.select([B, a > b], [a, b], 0.0), F, P), "piecewise": case(lambda x: jnp.piecewise(x, [x < 0, x > 1], [jnp.sin, jnp.cos, 2.0]), F),
    "interp": case(lambda x: jnp.interp(x, G, V), F), "polyval": case(lambda p: jnp.polyval(p, F), V), "vander": case(lambda x: jnp.vander(x, 3), V),
    "trapezoid": case(jnp.trapezoid, F), "cross": case(lambda a, b: jnp.cross(a[:, :3], b[:, :3]), F, P), "convolve": case(jnp.convolve, V, G), "correlate": case(jnp.correlate, V, G),
    "quantile": case(lambda x: jnp.quantile(x, 0.3, axis=1), F), "percentile": case(lambda x: jnp.percentile(x, 40.0), F), "nanmedian": plain(jnp.nanmedian, S),
    "cov": case(jnp.cov, F, rtol=1e-4), "corrcoef": case(jnp.corrcoef, F, rtol=1e-4, atol=1e-5), "ptp_axis": case(lambda x: jnp.ptp(x, axis=0), F),
}

PRODUCTS = {
    "dot": case(lambda a, b: jnp.dot(a, b.T), F, P), "einsum": case(lambda a, b: jnp.einsum("ij,kj->ik", a, b), F, P), "einsum_trace": case(lambda a: jnp.einsum("ii->", a), M),
    "einsum_three": case(lambda a, b: jnp.einsum("bij,bkj,k->bi", a, a, b), T, V[:3]), "einsum_diagonal": case(lambda a: jnp.einsum("ii->i", a), M),
    "inner": case(jnp.inner, F, P), "outer": case(jnp.outer, V, G), "kron": case(jnp.kron, F[:2, :2], P[:2]), "matmul": case(lambda a: a @ jnp.swapaxes(a, 1, 2), T),
    "matvec": case(jnp.matvec, F, V[:6]), "vecmat": case(jnp.vecmat, V[:4], F), "vecdot": case(jnp.vecdot, F, P), "vdot": case(jnp.vdot, F, P), "tensordot": case(lambda a, b: jnp.tensordot(a, b, ((1, 2), (1, 2))), T, T * 2),
    "multi_dot": case(lambda a: jnp.linalg.multi_dot([a, a.T, a]), F, rtol=1e-4, atol=1e-5), "matrix_power": case(lambda a: jnp.linalg.matrix_power(a, 3), M, rtol=1e-4, atol=1e-3),
    "norm": case(jnp.linalg.norm, F), "norm_axis": case(lambda x: jnp.linalg.norm(x, axis=1, ord=1), F), "vector_norm": case(lambda x: jnp.linalg.vector_norm(x, ord=3, axis=1), F),
    "det": case(lambda a: jnp.linalg.det(a), M, rtol=1e-4, atol=1e-4), "inv": case(lambda a: jnp.linalg.inv(a), M, **LOOSE),
    "solve": case(lambda a: jnp.linalg.solve(a, a[:, 0] + 1), M, **LOOSE), "qr": case(lambda a: jnp.linalg.qr(a), M, **LOOSE),
    "cholesky": case(lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(6)), M, **LOOSE), "slogdet": case(lambda a: jnp.linalg.slogdet(a), M, **LOOSE),
    "triangular": case(lambda a: jax.scipy.linalg.solve_triangular(a, a[:, 0]), M + 4 * np.eye(6, dtype=np.float32), **LOOSE),
    "expm": case(lambda a: jax.scipy.linalg.expm(0.2 * a), M, **LOOSE),
    "svd": refused("lapack", lambda a: jnp.linalg.svd(a), M), "eigh": refused("lapack", lambda a: jnp.linalg.eigh(a), M),
    "pinv": refused("lapack", lambda a: jnp.linalg.pinv(a), M), "lstsq": refused("lapack", lambda a: jnp.linalg.lstsq(a, a[:, 0])[0], M),
}

SHAPES = {
    "append": case(lambda a, b: jnp.append(a, b, 0), F, P), "array_split": case(lambda x: jnp.array_split(x, 4, 1), F), "block": case(lambda a, b: jnp.block([[a, b], [b, a]]), F, P),
    "broadcast_to": case(lambda x: jnp.broadcast_to(x, (3, 4, 6)), F), "column_stack": case(lambda a, b: jnp.column_stack([a, b]), V, G), "concatenate": case(lambda a, b: jnp.concatenate([a, b], -1), F, P),
    "delete": case(lambda x: jnp.delete(x, 2, axis=1), F), "dstack": case(lambda a, b: jnp.dstack([a, b]), F, P), "expand_dims": case(lambda x: jnp.expand_dims(x, 1), F), "fill_diagonal": case(lambda x: jnp.fill_diagonal(x, 3.0, inplace=False), F),
    "hstack": case(lambda a, b: jnp.hstack([a, b]), F, P), "insert": case(lambda x: jnp.insert(x, 2, 1.5, axis=1), F), "meshgrid": case(lambda a, b: jnp.meshgrid(a, b), V, G), "moveaxis": case(lambda x: jnp.moveaxis(x, 0, 2), T),
    "pad_reflect": case(lambda x: jnp.pad(x, 2, mode="reflect"), F), "pad_wrap": case(lambda x: jnp.pad(x, 1, mode="wrap"), F), "pad_edge": case(lambda x: jnp.pad(x, 1, mode="edge"), F), "pad_mean": case(lambda x: jnp.pad(x, 1, mode="mean"), F), "repeat": case(lambda x: jnp.repeat(x, 3, 0), F),
    "repeat_each": case(lambda x: jnp.repeat(x, jnp.array([1, 0, 2, 1]), axis=0, total_repeat_length=4), F), "resize": case(lambda x: jnp.resize(x, (3, 5)), F), "roll": case(lambda x: jnp.roll(x, (1, -2), (0, 1)), F), "roll_by_data": case(lambda x: jnp.roll(x, jnp.argmax(x), 1), F), "rollaxis": case(lambda x: jnp.rollaxis(x, 2), T),
    "split": case(lambda x: jnp.split(x, [1, 4], 1), F), "stack": case(lambda a, b: jnp.stack([a, b], 1), F, P), "tile": case(lambda x: jnp.tile(x, (2, 2)), F), "tri": plain(lambda x: x * jnp.tri(4, 6), F), "unstack": case(lambda x: jnp.unstack(x), F),
    "vstack": case(lambda a, b: jnp.vstack([a, b]), F, P), "trim": plain(lambda x: (x.at[1:3].set(0), x.at[:, ::2].add(1)), F), "arange": plain(lambda x: x + jnp.arange(6) / 3, F), "linspace": case(lambda x: jnp.linspace(x[0], x[1], 5), F), "logspace": plain(lambda x: x + jnp.logspace(0, 1, 6), F, rtol=1e-4), "geomspace": plain(lambda x: x + jnp.geomspace(1, 8, 6), F, rtol=1e-4),
    "windows": plain(lambda x: x[0] * (jnp.hamming(6) + jnp.hanning(6) + jnp.blackman(6) + jnp.bartlett(6)), F), "ravel": case(lambda x: (x.ravel(), x.T.ravel()), F), "ix_": case(lambda x: x[jnp.ix_(jnp.array([1, 3]), jnp.array([0, 2]))], F),
}

INDEXING = {
    "take": case(lambda x: jnp.take(x, A, axis=1), F), "take_fill": plain(lambda x: jnp.take(x, A + 4, axis=1, mode="fill"), F), "take_clip": case(lambda x: jnp.take(x, A + 4, axis=1, mode="clip"), F), "take_along_axis": case(lambda x: jnp.take_along_axis(x, N, 1), F),
    "take_along_argsort": case(lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), F), "put_along_axis": case(lambda x: jnp.put_along_axis(x, N[:, :1], 3.0, 1, inplace=False), F), "negative_index": case(lambda x: x[-1, jnp.array([-1, 2])], F), "boolean_mask": plain(lambda x: jnp.where(x > 0, x, 0), F),
    "choose": case(lambda x: jnp.choose(jnp.array([0, 2, 1, 3, 0, 1]), list(x), mode="clip"), F), "extract_size": plain(lambda x: jnp.extract(x > 0, x, size=5), F), "nonzero": plain(lambda x: jnp.nonzero(x > 0, size=10), F),
    "argwhere": plain(lambda x: jnp.argwhere(x > 0, size=8), F), "flatnonzero": plain(lambda x: jnp.flatnonzero(x > 0, size=9, fill_value=-1), F), "searchsorted": plain(lambda x: (jnp.searchsorted(G, x), jnp.searchsorted(G, x, side="right")), F), "searchsorted_sort": plain(lambda x: jnp.searchsorted(G, x, method="sort"), V), "searchsorted_all": plain(lambda x: jnp.searchsorted(G, x, method="compare_all"), V),
    "digitize": plain(lambda x: jnp.digitize(x, G), F), "bincount": plain(lambda x: jnp.bincount(x.ravel(), length=6), N), "bincount_weights": case(lambda w: jnp.bincount(A, weights=w, length=4), V), "histogram": plain(lambda x: jnp.histogram(x, bins=5), F), "unique": plain(lambda x: jnp.unique(x, size=5, fill_value=-1), N),
    "unique_all": plain(lambda x: jnp.unique(x.ravel(), size=6, return_index=True, return_inverse=True, return_counts=True), N), "isin": plain(lambda x: jnp.isin(x, jnp.array([1, 3])), N), "intersect1d": plain(lambda x: jnp.intersect1d(x[0], x[1], size=6), N), "union1d": plain(lambda x: jnp.union1d(x[0], x[1], size=8), N),
    "tril_indices": case(lambda x: x[jnp.tril_indices(4)], F), "unravel_index": plain(lambda x: jnp.unravel_index(x.ravel(), (2, 3)), N), "place": case(lambda x: jnp.place(x, B, jnp.array([1.0, 2.0]), inplace=False), F), "put": case(lambda x: jnp.put(x, A, jnp.arange(7.0), inplace=False), F),
    "argsort": plain(lambda x: (jnp.argsort(x), jnp.argsort(x, descending=True), jnp.argsort(x, axis=0)), F), "lexsort": plain(lambda x: jnp.lexsort((x[0], x[1])), N), "sort_down": case(lambda x: jnp.sort(x, descending=True), F), "partition": case(lambda x: jnp.partition(x, 2), F), "argpartition": plain(lambda x: jnp.argpartition(x, 2), F),
    "argmax": plain(lambda x: (jnp.argmax(x), jnp.argmin(x, 1), jnp.nanargmax(x)), F), "at_max": case(lambda x, y: x.at[1].max(y[0]), F, P), "at_multiply": plain(lambda x: x.at[A[:3]].multiply(2.0), F), "at_get": case(lambda x: x.at[A, 1].get(mode="fill", fill_value=0.0), F), "dynamic": case(lambda x: x[jnp.argmax(x[:, 0])], F),
    "segment_sum": case(lambda x: jax.ops.segment_sum(x, A, 4), V), "segment_rows": case(lambda x: jax.ops.segment_sum(x, jnp.array([1, 0, 1, 2]), 3), F), "segment_max": case(lambda x: jax.ops.segment_max(x, A, 5), V), "segment_min": case(lambda x: jax.ops.segment_min(x, A, 4), V), "segment_prod": plain(lambda x: jax.ops.segment_prod(x, A, 4), V),
}

WHOLE = {
    "counts": plain(lambda x: (jnp.count_nonzero(x), jnp.count_nonzero(x, 0)), I), "all_any": plain(lambda x: (jnp.all(x), jnp.any(x, 0)), B), "allclose": plain(lambda x: (jnp.allclose(x, x), jnp.isclose(x, 0.1), jnp.array_equal(x, x)), F), "kinds": plain(lambda x: (jnp.isnan(x), jnp.isfinite(x), jnp.isinf(x), jnp.isneginf(x), jnp.isposinf(x), jnp.signbit(x)), S),
    "bits": plain(lambda x: (jnp.bitwise_count(x), jnp.left_shift(x, 2), jnp.right_shift(x, 1), jnp.invert(x), jnp.bitwise_right_shift(x, 3)), I), "gcd": plain(lambda a, b: (jnp.gcd(a, b), jnp.lcm(a, b)), I, N), "power_i": plain(lambda a, b: jnp.power(a, b), I, N), "floor_divide": plain(lambda a, b: (a // (b + 1), a % (b + 1)), I, N),
    "floor_divide_f": plain(lambda a, b: jnp.floor_divide(a, b), F, P), "logical": plain(lambda a, b: (jnp.logical_and(a, b), jnp.logical_xor(a, b), jnp.logical_not(a)), B, ~B), "packbits": plain(lambda x: jnp.packbits(x.ravel()), B), "unpackbits": plain(lambda x: jnp.unpackbits(x.astype(np.uint8).ravel()), N), "astype": plain(lambda x: (x.astype(np.int32), x.astype(np.uint8), x.astype(bool), x.astype(np.float16)), P),
    "apply_along_axis": case(lambda x: jnp.apply_along_axis(lambda r: r * r.sum(), 1, x), F), "vectorize": case(jnp.vectorize(lambda a, b: a * jnp.sin(b)), F, P), "fromfunction": plain(lambda x: x + jnp.fromfunction(lambda i, j: i * 6 + j, (4, 6)), F), "vmap": case(jax.vmap(lambda r: jnp.sort(r) @ r), F), "vmap_cond": case(jax.vmap(lambda r: jax.lax.cond(r[0] > 0, jnp.sin, jnp.cos, r)), F),
    "vmap_while": plain(jax.vmap(lambda r: jax.lax.while_loop(lambda v: v < 50, lambda v: v * 2, r)), P[:, 0]), "jvp": plain(lambda x: jax.jvp(jnp.sin, (x,), (x,)), F), "hessian": case(lambda x: jax.hessian(lambda v: (v**3).sum())(x), V), "jacobian": case(lambda x: jax.jacrev(lambda v: jnp.outer(v, v))(x), V[:3]), "linearize": plain(lambda x: jax.linearize(jnp.sin, x)[1](x), F),
    "erf": case(jax.scipy.special.erf, F), "erfinv": case(jax.scipy.special.erfinv, U), "gammaln": case(jax.scipy.special.gammaln, P, rtol=1e-4), "gamma": plain(jax.scipy.special.gamma, P, rtol=1e-4), "digamma": plain(jax.scipy.special.digamma, P, rtol=1e-4), "xlogy": case(jax.scipy.special.xlogy, P, P), "logit": case(jax.scipy.special.logit, P / 9), "entr": case(jax.scipy.special.entr, P),
    "ndtr": case(jax.scipy.special.ndtr, F, rtol=1e-4), "ndtri": plain(jax.scipy.special.ndtri, P / 9, rtol=1e-4), "log_ndtr": case(jax.scipy.special.log_ndtr, F, rtol=1e-4), "i0e": case(jax.scipy.special.i0e, F, rtol=1e-4), "i1": case(jax.scipy.special.i1, F, rtol=1e-4), "expit": case(jax.scipy.special.expit, F), "kl_div": case(jax.scipy.special.kl_div, P, P * 2), "betaln": case(jax.scipy.special.betaln, P, P + 1, rtol=1e-4, atol=1e-5),
    "gammainc": plain(jax.scipy.special.gammainc, P, P, rtol=1e-4), "zeta": plain(lambda x: jax.scipy.special.zeta(x + 1.5, x), P, rtol=1e-4), "polygamma": plain(lambda x: jax.scipy.special.polygamma(1, x), P, rtol=1e-4), "expi": plain(jax.scipy.special.expi, P, rtol=1e-4), "rankdata": plain(jax.scipy.stats.rankdata, V), "mode": plain(lambda x: jax.scipy.stats.mode(x), N), "norm_pdf": case(jax.scipy.stats.norm.logpdf, F),
    "multigammaln": plain(lambda x: jax.scipy.special.multigammaln(x + 2, 2), P, rtol=1e-4), "spence": plain(jax.scipy.special.spence, P, rtol=1e-4), "image_resize": case(lambda x: jax.image.resize(x, (8, 9), "bilinear"), F, rtol=1e-4, atol=1e-5), "map_coordinates": case(lambda x: jax.scipy.ndimage.map_coordinates(x, [jnp.array([0.5, 1.5]), jnp.array([2.2, 3.1])], order=1), F),
}
