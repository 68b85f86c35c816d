# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.workload.entropy_model import EntropyModel


@pytest.mark.parametrize(
    ("parameters", "alpha"),
    # Printed with the model, to three digits.
    [((0.20, 1.10, 0.45), 0.735), ((0.55, 0.65, 0.40), 0.907), ((0.70, 0.45, 0.40), 0.954)],
)
def test_the_closed_form_gives_the_published_acceptance(parameters, alpha):
    assert EntropyModel(*parameters).alpha == pytest.approx(alpha, abs=6e-4)


def test_the_law_of_entropies_is_the_published_one():
    """P(H > 0.25, 0.5, 1, 2, 4 nat) as printed for pi0 0.45, m 0.86."""
    u = (np.arange(100_000) + 0.5) / 100_000
    entropy = EntropyModel(0.45, 0.86, 0.4).quantile(u)
    shares = [(entropy > limit).mean() for limit in (0.25, 0.5, 1, 2, 4)]
    assert shares == pytest.approx([0.41, 0.31, 0.17, 0.054, 0.005], abs=0.006)


def test_certain_tokens_are_log_uniform_from_1e_5_to_0_05():
    u = (np.arange(1000) + 0.5) / 1000
    log10 = np.log10(EntropyModel(1, 1.0, 0.4).quantile(u))
    assert log10[[0, 499, 999]] == pytest.approx([-5, -3.15, -1.3], abs=0.01)
    assert np.diff(log10) == pytest.approx(np.full(999, 0.0037))


def test_by_hand():
    model = EntropyModel(0.5, 2.0, 0.5)
    # pi0 + (1 - pi0) / (1 + kappa m) = 0.5 + 0.5 / 2
    assert model.alpha == 0.75
    assert model.entropy_nats == 1
    # u halfway up the certain part: 10^(-5 + 3.7 / 2); halfway up the other: m ln 2
    assert model.quantile(np.array([0.25, 0.75])) == pytest.approx([10**-3.15, 2 * np.log(2)])
    assert model.acceptance(np.array([0, 2.0])) == pytest.approx([1, np.exp(-1)])


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_extreme_shares_of_certain_tokens_have_finite_entropies(certain):
    entropy = EntropyModel(certain, 1.0, 0.4).quantile(np.array([1e-300, 0.5, 1 - 2**-53, 1.0]))
    assert np.isfinite(entropy).all()
    assert (entropy >= 0).all()


@pytest.mark.parametrize("alpha", [0.36, 0.52, 0.85, 0.999])
def test_a_wanted_acceptance_is_met(alpha):
    assert EntropyModel.with_alpha(alpha, 0.35, 0.4).alpha == pytest.approx(alpha, rel=1e-12)


@pytest.mark.parametrize(("alpha", "kappa"), [(0.35, 0.4), (0.2, 0.4), (1, 0.4), (0.5, 0)])
def test_an_acceptance_out_of_reach_is_refused(alpha, kappa):
    with pytest.raises(UserError, match=r"needs to lie between the share .* 0\.35, and 1"):
        EntropyModel.with_alpha(alpha, 0.35, kappa)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ((-0.1, 1, 1), r"the share of certain tokens must lie in 0\.\.1, not -0\.1"),
        ((1.1, 1, 1), "share of certain"),
        ((float("nan"), 1, 1), "share of certain"),
        ((0.5, 0, 1), "the mean entropy must be above 0 nat, not 0"),
        ((0.5, float("inf"), 1), "mean entropy"),
        ((0.5, 1, -1), "kappa must be at least 0 per nat, not -1"),
        ((0.5, 1, float("nan")), "kappa"),
    ],
)
def test_impossible_parameters_are_refused(parameters, told):
    with pytest.raises(UserError, match=told):
        EntropyModel(*parameters)


def test_entropies_are_correlated_along_the_committed_path_only():
    model = EntropyModel(0.0, 1.0, 0.4)
    entropy = np.log(model.entropies(0, 200, 200, 2))
    entropy -= entropy.mean(axis=(1, 2), keepdims=True)

    def correlation(a, b):
        return (a * b).mean() / np.sqrt((a**2).mean() * (b**2).mean())

    path, off = entropy[:, :, 0], entropy[:, :, 1]
    assert 0.15 < correlation(path[:, 1:], path[:, :-1]) < 0.25
    assert abs(correlation(off[:, 1:], off[:, :-1])) < 0.03
    assert abs(correlation(path, off)) < 0.03


def test_requests_differ_by_a_fifth_of_the_variance_on_and_off_the_path():
    """The latent is normal, and here the entropy is exponential: both back to the normal law."""
    from statistics import NormalDist

    u = -np.expm1(-EntropyModel(0.0, 1.0, 0.4).entropies(0, 400, 100, 2))
    latent = np.vectorize(NormalDist().inv_cdf)(np.minimum(u, 1 - 1e-12))
    for step in (0, 1):
        assert latent[:, :, step].var() == pytest.approx(1, abs=0.025)
        assert latent[:, :, step].mean(axis=1).var() == pytest.approx(0.2, abs=0.03)
