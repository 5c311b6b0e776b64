"""Many recordings: by every way that leads from them to a model it is the same model."""

from pathlib import Path

from arm_days import day
import numpy as np
import pytest

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.procedures import many_recordings

# The last part of a delay is algebra in one process and another reading of many bags: see below.
PUNCTUAL = {'find_time_offset': False}


def assert_one_model(one, other):
    """Assert that two models differ by less than 1e-9 standard errors, and judge alike."""
    values = {e['name']: e for e in one.base}
    assert list(values) == [e['name'] for e in other.base]
    for entry in other.base:
        own = values[entry['name']]
        assert own['determined'] == entry['determined']
        if own['determined']:
            error = own['standard_error']
            assert abs(own['value'] - entry['value']) < 1e-9 * error, entry['name']
            assert entry['standard_error'] == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(*(m.mounting['gravity_base'] for m in (one, other)), atol=1e-9)
    for name in ('rank', 'rank_in_data', 'masked_share', 'verdict'):
        assert one.statistics[name] == other.statistics[name]
    for name in {'training', 'validation', 'cross_validation'} & set(one.statistics):
        own, theirs = (
            m.statistics[name].get('filtered', m.statistics[name]) for m in (one, other)
        )
        assert own['rms'] == pytest.approx(theirs['rms'], rel=1e-8)


@pytest.mark.parametrize(
    'lean, rates, changes, more',
    [
        (0.03, (40.0, 200.0, 100.0), PUNCTUAL, []),
        (
            0.0,
            (100.0,) * 3,
            {**PUNCTUAL, 'unconstrained': True, 'coulomb_width': 0.05},
            ['--jobs', '1', '--cache', 'kept'],
        ),
    ],
)
def test_one_model_by_all_ways(arm3, lean, rates, changes, more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bags = [str(tmp_path / f'day{number}') for number in range(3)]
    for number, bag in enumerate(bags):  # the last one is wrong and takes no part
        write_recording(
            Path(bag),
            day(arm3, number, sign=-1.0 if number == 2 else 1.0, lean=lean, rate=rates[number]),
        )
    config = tmp_path / 'config.yaml'
    words = {k: str(v).lower() for k, v in changes.items()}
    config.write_text(f'serial_arm: {{{", ".join(f"{k}: {v}" for k, v in words.items())}}}')
    write_recording(tmp_path / 'other', day(arm3, 5, lean=lean))
    other = read_bag(str(tmp_path / 'other'))
    once = rid.identify([read_bag(bag) for bag in bags], validate=other, **changes).model
    assert list(once.identified.provenance['left_out']) == bags[2:]
    for seen, rate in zip(once.identified.preprocessing, rates):  # each keeps its own noise out
        assert seen['cutoff'] <= 0.25 * rate * (1.0 + 1e-3)
    if lean:
        found = np.array(once.identified.mounting['gravity_base'][0])
        np.testing.assert_allclose(
            found, 9.81 * np.array([np.sin(lean), 0.0, -np.cos(lean)]), atol=0.05
        )  # [m/s^2], a third of a degree
    many = rid.identify_many(bags, validate=other, cache='kept', **changes).model
    main(
        [
            'identify',
            *bags,
            '--validate',
            'other',
            '--config',
            str(config),
            '--no-report',
            '--out',
            'out',
            *more,
        ]
    )
    for other in (many, rid.load_model('out/model.yaml')):
        assert_one_model(once.identified, other.identified)
        assert list(other.identified.provenance['left_out']) == bags[2:]


@pytest.fixture(scope='module')
def one_day(arm3, tmp_path_factory):
    """Return the path of a bag, and the IdentifiedModel of its Recording."""
    bag = str(tmp_path_factory.mktemp('one') / 'day')
    write_recording(Path(bag), day(arm3, 0, lean=0.03))
    return bag, rid.identify(read_bag(bag), **PUNCTUAL).model.identified


def assert_is_of_one_day(one_day, cache, **where):
    """Assert that the bag, accumulated in another process, gives the same model and choice."""
    bag, once = one_day
    many = rid.identify_many(bag, cache=str(cache), **PUNCTUAL, **where).model.identified
    assert_one_model(once, many)
    assert [c['candidate'] for c in many.statistics['choices'] if c['chosen']] == [
        c['candidate'] for c in once.statistics['choices'] if c['chosen']
    ]


def test_one_bag_is_one_model_from_another_process(one_day, tmp_path, monkeypatch):
    monkeypatch.setattr(many_recordings, 'FEW_TASKS', 0)  # all of it in other processes
    assert_is_of_one_day(one_day, tmp_path, jobs=2)


def test_one_bag_is_one_model_from_a_cluster(one_day, tmp_path):
    distributed = pytest.importorskip('distributed', reason="pip install '.[cluster]'")
    import dask

    patient = {'distributed.comm.timeouts.connect': '120s', 'distributed.worker.daemon': True}
    with (
        dask.config.set(patient),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as workers,
    ):
        assert_is_of_one_day(one_day, tmp_path, scheduler=workers.scheduler_address)


def test_a_delay_of_many_bags_is_that_of_one(arm3, tmp_path):
    """To first order: bags are read at the delay of the first ones, one recording by algebra."""
    bag = str(tmp_path / 'day')
    write_recording(Path(bag), day(arm3, 0))
    once = rid.identify(read_bag(bag)).model.identified
    many = rid.identify_many(bag, cache=str(tmp_path / 'kept')).model.identified
    for one, other in zip(once.base, many.base):
        if one['determined']:
            assert abs(one['value'] - other['value']) < 0.02 * one['standard_error'], one['name']
