"""The verbs for rigs, as typed: bags and YAML in, numbers or one line of error out."""

import json

import numpy as np
import pytest
from typed_words import refused, run
import yaml

from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.rigs.measurement.sources import read_pose
from ros_inertial_id.rigs.suspended_platform.rig import platform_rig

GRAVITY = np.array([0.0, 0.0, -9.81])
PLACES = ([0.25, 0.1, 0.05], [-0.1, -0.25, 0.05])  # of a known mass on the platform


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder for a platform's rig.yaml and bags of it."""
    return tmp_path_factory.mktemp('rigs')


@pytest.fixture(scope='module')
def rig(folder):
    """Return (module of the true rig, rig.yaml), bags of its vibrations beside it."""
    import platform_truth as truth

    data = yaml.safe_load(truth.description(truth.TWO_LINKS, calibrated=False))
    markers = platform_rig(yaml.safe_dump(data), GRAVITY)
    for entry, topic in ((data['platform'], '/platform'), (data['links']['link1'], '/link1')):
        del entry['markers'], entry['layout']
        entry['pose'] = topic
    file = folder / 'rig.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    loaded = {'empty': None, **{f'load{k}': (40.0, place) for k, place in enumerate(PLACES)}}
    for k, (name, weight) in enumerate(loaded.items()):
        _write(folder / name, truth.loaded(weight, 8.0, 800 + k)[0], markers.sources[:1])
    for k, posture in enumerate(truth.LOOSE):
        recording = truth.record(truth.TWO_LINKS, posture, 6.0, 900 + k, held=False)
        _write(folder / f'loose{k}', recording, (markers.sources[0], markers.sources[2]))
    return truth, file


@pytest.fixture(scope='module')
def held(folder, rig):
    """Return the bags of three held postures on springs that are known, and their rig.yaml."""
    truth, file = rig
    known = yaml.safe_load(file.read_text())
    described = yaml.safe_load(truth.description(truth.TWO_LINKS))
    known['platform'] |= {
        k: described['platform'][k] for k in ('stiffness', 'preload', 'inertial')
    }
    (folder / 'known.yaml').write_text(yaml.safe_dump(known))
    sources = platform_rig(truth.description(truth.TWO_LINKS), GRAVITY).sources
    bags = [folder / f'held{k}' for k in range(3)]
    for k, (bag, posture) in enumerate(zip(bags, truth.POSTURES[1:])):
        _write(bag, truth.record(truth.TWO_LINKS, posture, 6.0, 950 + k), (sources[0], sources[2]))
    return truth, folder / 'known.yaml', bags


def _write(path, recording, sources):
    """Write the poses of bodies in a Recording of markers, which cannot be written, as a bag."""
    channels = {}
    for source, topic in zip(sources, ('/platform', '/link1')):
        series = read_pose(recording, source, recording.origin_ns())
        stamps = recording.origin_ns() + np.round(series.t * 1e9).astype(np.int64)
        channels[topic] = Channel(
            topic,
            'geometry_msgs/msg/PoseStamped',
            stamps,
            stamps,
            {'position': series.values[:, :3], 'orientation_xyzw': series.values[:, 3:]},
            frame_id='world',
        )
    write_recording(path, Recording(channels))


def test_platform_is_calibrated_and_then_used_from_bags(capsys, folder, rig):
    truth, file = rig
    loads = []
    for k, place in enumerate(PLACES):
        weight = truth.Link('weight', 40.0, np.array(place), np.diag([0.3, 0.3, 0.5]))
        loads += ['--loaded', folder / f'load{k}', ' '.join(map(str, truth.ten(weight)))]
    out = folder / 'calibrated.yaml'
    status, printed, _ = run(
        capsys, 'calibrate', file, '--json', '--empty', folder / 'empty', *loads, '--out', out
    )
    told = json.loads(printed)
    assert status == 0 and told['description'] == str(out)
    np.testing.assert_allclose(np.diag(told['stiffness']), np.diag(truth.STIFFNESS), rtol=0.01)
    status, printed, _ = run(
        capsys,
        'identify',
        folder / 'loose0',
        folder / 'loose1',
        '--json',
        '--method',
        'suspended_platform',
        '--urdf',
        out,
        '--out',
        folder / 'result',
        '--urdf-out',
        folder / 'identified.yaml',
    )
    assert status == 0
    links = yaml.safe_load((folder / 'identified.yaml').read_text())['links']
    for link in truth.TWO_LINKS[1:]:
        np.testing.assert_allclose(
            links[link.name]['inertial'][1:4], truth.ten(link)[1:4], atol=0.06
        )


def test_calibration_refuses_what_cannot_give_sizes(capsys, folder, rig):
    _, file = rig
    out = folder / 'none.yaml'
    words = ('calibrate', file, '--out', out)
    assert '--empty BAG' in refused(capsys, *words)
    assert 'empty only' in refused(capsys, *words, '--empty', folder / 'empty')
    assert 'MASS X Y Z' in refused(capsys, *words, '--loaded', folder / 'load1', '40 kg')
    assert 'cannot be read' in refused(capsys, 'calibrate', folder / 'no.yaml', '--out', out)
    assert not out.exists()


def test_postures_from_bags_give_the_links_within_the_intervals(capsys, folder, held):
    truth, file, bags = held
    words = [word for bag in bags for word in ('--held', bag)]
    status, printed, _ = run(capsys, 'postures', file, *words, '--json')
    told = json.loads(printed)
    assert status == 0 and told['rank'] == told['rank_in_data'] == 17
    assert told['schema'] == 'ros_inertial_id/postures/1'
    first, second = (truth.ten(link) for link in truth.TWO_LINKS[1:])
    value = {e['expression']: e['value'] for e in told['base_parameters']}
    for k, ten in enumerate((first, second)):
        for place, axis in enumerate('xyz', 1):
            # 80 kg, 0.3 mm of noise: a millimetre of the whole's centre is 0.08 kg m.
            assert value[f'mc{axis}{k}'] == pytest.approx(ten[place], abs=0.08)
    low, high = told['intervals']['Iyy0']
    # The ends of the interval move with the combinations, known to a few hundredths.
    assert low - 0.05 < first[6] < high + 0.05
    assert any('Iyy0 lies in' in line for line in told['verdict'])
    few = run(capsys, 'postures', file, *words[:2])[1]
    assert 'rank 9 of 17' in few and 'not determined' in few and 'more postures' in few
    assert 'was not still' in refused(capsys, 'postures', file, '--held', folder / 'loose0')
    assert '--held BAG' in refused(capsys, 'postures', file)
