"""
Coverage: how often stated 95 % intervals hold the truth, by rate, bandwidth and velocity.

    python benchmark/coverage.py [--seeds 20] [--rates 100 250] [--bands 0.5 2.5] [--true-laws]

An arm of three joints that MuJoCo computes, sampled with jitter and the noise of real sensors (see
test/oracles/sampled_arm.py), is identified with its measured velocity and with differentiated
positions, friction laws chosen from the data as by default or (--true-laws) as the truth has them.
Takes some 15 minutes.  Every cell: share of all base parameters of all seeds within 1.96 stated
standard errors of the truth [%], rms of the errors in standard errors, largest.  92 to 98 % is
right for one in twenty; a few hundred parameters of some twenty recordings tell it to about two
percent.
"""

import argparse
from pathlib import Path
import sys

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from sampled_arm import scores, TRUE_LAWS  # noqa: E402

RATES = (100.0, 125.0, 250.0, 500.0, 1000.0)  # [Hz]
BANDS = (0.5, 1.0, 2.5)  # [Hz]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--rates', type=float, nargs='+', default=RATES)
    parser.add_argument('--bands', type=float, nargs='+', default=BANDS)
    parser.add_argument('--true-laws', action='store_true')
    arguments = parser.parse_args()
    laws = TRUE_LAWS if arguments.true_laws else {}
    print(
        '| rate [Hz] | motion to [Hz] | measured: % rms max | differentiated: % rms max |\n'
        '|---|---|---|---|'
    )
    for rate in arguments.rates:
        for band in arguments.bands:
            cells = []
            for velocity in ('measured', 'differentiated'):
                z = np.concatenate(
                    [scores(rate, band, velocity, seed, **laws) for seed in range(arguments.seeds)]
                )
                cells.append(
                    f'{100 * (abs(z) < 1.96).mean():.0f} {np.sqrt((z**2).mean()):.2f}'
                    f' {abs(z).max():.1f}'
                )
            print(f'| {rate:.0f} | {band:g} | {" | ".join(cells)} |', flush=True)


if __name__ == '__main__':
    main()
