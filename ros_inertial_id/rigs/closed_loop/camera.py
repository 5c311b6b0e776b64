"""
Where cameras stand and the time offset of each marker topic, found from the markers.

Where nothing is known of the camera its pose is first sought among random ones by registration,
then adjusted together with the motion (bundle_adjustment.py).  The first camera alone shows the
motion; the points that another one sees are then where the mechanism is at the same time, and one
rigid registration gives its pose (Kabsch 1976), one for every clock offset that is tried.  What
the markers leave undetermined is not given a number: with ``camera:`` it stays as it says, without
it is refused.
"""

from dataclasses import replace
from itertools import combinations
from typing import Any, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .bundle_adjustment import Bundle, Shared, spread_stamps, STEP
from .cameras import aligned, cameras_of, line_of, registered
from .marker_fit import OUTLIER
from .markers import WRONG
from ..dynamics.mechanism import Mechanism
from ..measurement.marker_clocks import (on_one_clock, ONE_CLOCK, other_topics, own_clocks,
                                         reference_stamps, SURE)
from ...dynamics.body_motion import body_motions, frame_of
from ...errors import RecordingError

FRAMES = 5000      # at most, spread over the recording; more add no precision
FEW = 120          # enough to find the way by
FITS = 4.0         # typical loss with which no other clock offset is tried
BAD = OUTLIER ** 2 * np.log1p((WRONG / OUTLIER) ** 2)  # loss of markers that are WRONG
ALIKE = 1.2        # ratio of mean losses below which two poses fit alike
OPEN = 1e-3        # [rad, m] per unit of an open direction: a number that it moves is open, too
OPEN_CLOCK = 1e-4  # [s] likewise
TURNED, MOVED = 0.2, 0.1  # [rad], share of the reach: poses that differ more are two
ROUNDS = 10        # of registration with weights
LONG = 12.0        # [s] of a recording that shows whether a clock drifts: as for IMUs
FEWEST = 10        # readings at times at which the first camera saw something


def find_shared(robot: Mechanism, markers: Sequence[Any], options: Any) -> Shared:
    """
    Return the Shared of Markers, from the poses that the options say.

    Topics with stamps of their own get a clock offset (``largest_clock_offset``), with
    ``find_camera`` the pose is estimated, and that of ``cameras`` without one.  RecordingError
    where data do not determine it.
    """
    first, *others = cameras_of(options)
    topics = [topic for camera in others for topic in camera.topics]
    own = [m for m in markers if m.topic not in topics]
    best = _first_alone(robot, own, options, first)
    if others:
        bundle = Bundle(robot, own, options, best, spread_stamps(own, best, FRAMES))
        best = _begin(robot, bundle, best, markers, others)
    if not best.offsets and not any(camera.free for camera in best.cameras):
        return best
    t = spread_stamps(markers, best, FRAMES)
    many = Bundle(robot, markers, options, best, t)
    result = many.adjust(best, many.search(best))
    if result.shared.offsets and t[-1] - t[0] > LONG:
        result = _with_drifts(robot, markers, options, result, t)
    if others:
        _check_clocks(result.shared, options.largest_clock_offset)
        _check_others(result)
    return replace(result.shared, notes=_notes(result, options.find_camera))


def _with_drifts(robot, markers, options, result, t):
    """Return the Adjusted with clocks that drift as well, ``result`` where that may be chance."""
    tried = replace(result.shared, drifts=dict.fromkeys(result.shared.offsets, 0.0),
                    middle=0.5 * (t[0] + t[-1]))
    while tried.drifts:
        bundle = Bundle(robot, markers, options, tried, t)
        found = bundle.adjust(tried, bundle.search(tried))
        drifts = found.shared.drifts
        errors = np.linalg.norm(found.shared.errors[-len(drifts):], axis=1)
        sure = {topic: drift for (topic, drift), error in zip(drifts.items(), errors)
                if abs(drift) > SURE * error > 0.0}
        if len(sure) == len(drifts):
            return found
        tried = replace(tried, drifts=sure)
    return result


def _first_alone(robot, markers, options, camera):
    """Return the Shared that Markers of the first camera show."""
    own = own_clocks(markers) if options.largest_clock_offset else []
    shared = Shared((camera,), dict.fromkeys(own, 0.0), {})
    found = _candidates(robot, markers, options, shared)
    others = other_topics(markers) if options.largest_clock_offset else []
    if found[0].typical > FITS and others != own:  # stamps may be alike by whole periods
        again = replace(shared, offsets=dict.fromkeys(others, 0.0))
        tried = _candidates(robot, markers, options, again)
        if tried[0].typical < 0.5 * found[0].typical:
            found = tried
    if found[0].typical > BAD:
        _explain(robot, markers, options, shared)
    elif options.find_camera and (not options.camera or len(found) > 1):
        _refuse_others(found, robot.reach())
    _check_clocks(found[0].shared, options.largest_clock_offset)
    return found[0].shared


def _begin(robot, bundle, shared, markers, others):
    """Return ``shared`` with the other Cameras, about where they stand, and clock offsets."""
    q = bundle.search(shared)
    first = [m for m in markers if not any(m.topic in camera.topics for camera in others)]
    clock = reference_stamps(first, shared.offsets)
    for camera in others:
        own = [m for m in markers if m.topic in camera.topics]
        late = sorted({m.topic for m in own if bundle.limit
                       and np.isin(m.t, clock).mean() < ONE_CLOCK})
        tried = []
        for start in bundle.starts() if late else [0.0]:
            offsets = {**shared.offsets, **dict.fromkeys(late, start)}
            there = on_one_clock([*first, *own], offsets, bundle.t)[len(first):]
            pairs = _pairs(robot, bundle.t, q, there)
            if len(pairs[0]) >= FEWEST:
                tried.append((*_fitted(camera, *pairs), offsets))
        if not tried:
            raise RecordingError(
                f"the camera of {', '.join(camera.topics)} saw nothing when the first one did",
                do='set largest_clock_offset: where their clocks differ')
        _, best, offsets = min(tried, key=lambda found: found[0])
        if camera.free and not any(m.rotation is not None for m in own):
            _check_spread(pairs[1], bundle.fit.noise[0], camera)
        shared = replace(shared, cameras=(*shared.cameras, best), offsets=offsets)
    return shared


def _pairs(robot, t, q, markers):
    """Return points (P, 3) of Markers and where a mechanism at q (M, n), t (M,), has them."""
    motions, seen, there = body_motions(robot.robot, q), [], []
    for marker in markers:
        link = frame_of(robot.robot, marker.link)
        there.append(motions[link.body + 1].at(link).p.T[np.isin(t, marker.t)])
        seen.append(marker.position[np.isin(marker.t, t)])
    return np.concatenate(seen), np.concatenate(there)


def _fitted(camera, seen, there):
    """Return (median square [m^2], Camera) that puts points (P, 3) on others, if it is free."""
    weight = np.ones(len(seen))
    for _ in range(ROUNDS):
        if camera.free:
            R, p = aligned(seen[:, None], weight[:, None], there[:, None])
            camera = replace(camera, rotation=R, translation=p)
        square = ((seen @ camera.rotation.T + camera.translation - there) ** 2).sum(1)
        usual = float(np.median(square))
        weight = 1.0 / (1.0 + square / max(usual, 1e-12))
    return usual, camera


def _check_spread(points, noise, camera):
    """Raise RecordingError where points (P, 3) lie on a line: noise alone would show a turn."""
    width = np.linalg.svd(points - points.mean(0), compute_uv=False)[1] / np.sqrt(len(points))
    if width < OUTLIER * noise:
        raise RecordingError(
            f"the markers of {', '.join(camera.topics)} do not determine where their camera "
            'stands', found='all on one line: a turn about it is open',
            do='see another marker with it, a tag (pose), or give its pose in cameras:')


def _candidates(robot, markers, options, shared):
    """Return Adjusted near ``shared`` or, if need be, anywhere, the best first."""
    few = Bundle(robot, markers, options, shared, spread_stamps(markers, shared, FEW))
    found = []
    if options.camera or not options.find_camera:
        found = [_on_clock(few, few.adjust(shared, few.search(shared)))]
    if options.find_camera and (not found or found[0].typical > BAD):
        camera, = shared.cameras
        guesses = [replace(shared, cameras=(replace(camera, rotation=R, translation=p),))
                   for R, p in registered(robot, few.fit.library, few.camera_frames(),
                                          options.marker_noise / options.tag_noise)]
        found = sorted((few.adjust(g, few.search(g)) for g in guesses), key=_cost)
        best = min((_on_clock(few, f) for f in found[:2]), key=_cost)
        if best.shared.offsets != found[0].shared.offsets:
            again = [replace(f.shared, offsets=best.shared.offsets) for f in found]
            found = [best] + [few.adjust(g, few.search(g)) for g in again]
    return sorted(found, key=_cost)


def _cost(adjusted):
    return adjusted.cost


def _on_clock(bundle, best):
    """Return the best Adjusted with clock offsets as they are or, if that does not fit, others."""
    for topic in best.shared.offsets:
        if best.typical < FITS:
            break
        tried = [replace(best.shared, offsets={**best.shared.offsets, topic: start})
                 for start in bundle.starts()]
        nearest = min(tried, key=lambda shared: bundle.loss(shared, bundle.search(shared)))
        best = min(best, bundle.adjust(nearest, bundle.search(nearest)), key=_cost)
    return best


def _explain(robot, markers, options, shared):
    """Raise RecordingError: why the markers do not fit, where another reading of them does."""
    def fits(others):
        own = {t: x for t, x in shared.offsets.items() if t in {m.topic for m in others}}
        return _candidates(robot, others, options, replace(shared, offsets=own))[0].typical < BAD

    same = [m for m in markers if m.topic not in shared.offsets]
    if shared.offsets and fits(same):
        raise RecordingError(
            'the sensors are not on one clock', do='raise largest_clock_offset:, or check the '
            'links in markers:', expected=f'within +-{options.largest_clock_offset} s',
            found=f'no offset of {", ".join(shared.offsets)} that fits')
    if not options.find_camera:
        return  # the misfit of every marker says more, see markers.py
    for a, b in combinations(range(len(markers)), 2):
        links = [m.link for m in markers]
        links[a], links[b] = links[b], links[a]
        if fits([replace(m, link=link) for m, link in zip(markers, links)]):
            raise RecordingError(f'markers {markers[a].name} and {markers[b].name} are exchanged',
                                 do='exchange them in markers:')
    raise RecordingError(
        'the markers fit the mechanism from no place of the camera', do='check their links, the '
        'lengths in the URDF and start: (another branch?); name topics of another camera in '
        'cameras:')


def _check_clocks(shared, limit):
    """Raise RecordingError where an offset is larger than believed."""
    for topic, offset in shared.offsets.items():
        if abs(offset) > limit:
            raise RecordingError(
                'the sensors are not on one clock', expected=f'within +-{limit} s',
                found=f'{topic} {offset:+.4f} s', do='raise largest_clock_offset:')


def _refuse_others(found, reach):
    """Raise RecordingError where markers alone do not determine the pose of the camera."""
    result = found[0]
    if result.loose.shape[1]:
        raise RecordingError(
            'the markers do not determine the pose of the camera', found='; '.join(
                f'{words} is open' for words in _directions(result, 0)),
            do='give camera: as far as it is known, or see more markers or a tag (pose)')
    first = result.shared.cameras[0]
    for other, camera in ((x, x.shared.cameras[0]) for x in found[1:]):
        turned = Rotation.from_matrix(first.rotation @ camera.rotation.T).magnitude()
        moved = np.linalg.norm(first.translation - camera.translation)
        if other.cost < ALIKE * result.cost and (turned > TURNED or moved > MOVED * reach):
            raise RecordingError(
                'the markers fit two places of the camera alike', found=' and '.join(
                    '[' + ', '.join(f'{x:.3f}' for x in s.pose()) + ']'
                    for s in (first, camera)),
                do='give camera: roughly, or the orientation of a tag (pose)')


def _check_others(result):
    """Raise RecordingError where a further camera's place does not fit, or is not determined."""
    for k, camera in enumerate(result.shared.cameras[1:], 1):
        words = _directions(result, k)
        if words or result.typical > BAD:
            topics = ', '.join(camera.topics)
            raise RecordingError(
                f'the markers do not determine where the camera of {topics} stands' if words else
                f'the markers fit from no place of the camera of {topics}',
                found='; '.join(f'{text} is open' for text in words), do='see more markers, a tag '
                '(pose), or give its pose in cameras:' if words else 'check their links')


def _notes(result, find_camera):
    """Return what was found, with standard errors; None where it is not determined."""
    shared, error = result.shared, np.linalg.norm(result.shared.errors, axis=1)
    first, *others = shared.cameras
    out = {}
    if find_camera:
        out['camera'] = first.pose().tolist()
        out['camera_standard_error'] = _pose_errors(result, 0)
        out['camera_not_determined'] = _directions(result, 0)
    free = [k for k, camera in enumerate(others, 1) if camera.free]
    if others:
        out['cameras'] = [line_of(camera) for camera in others]
    if free:
        out['cameras_standard_error'] = {
            ' '.join(shared.cameras[k].topics): _pose_errors(result, k) for k in free}
    if shared.offsets:
        poses = 6 * len(shared.cameras)
        open_ = np.abs(result.loose[poses:]).max(1, initial=0.0) > OPEN_CLOCK
        out['marker_clock_offset'] = dict(shared.offsets)
        out['marker_clock_offset_error'] = {
            t: None if o else float(e) for t, e, o in zip(shared.offsets, error[poses:], open_)}
    if shared.drifts:
        out['marker_clock_drift'] = dict(shared.drifts)
        out['marker_clock_drift_error'] = dict(zip(
            shared.drifts, error[-len(shared.drifts):].tolist()))
    return out


def _pose_errors(result, number):
    """Return errors of X Y Z ROLL PITCH YAW [m, rad] of a camera, None where not determined."""
    camera, own = result.shared.cameras[number], slice(6 * number, 6 * number + 6)
    slope = np.zeros((6, 6))
    for k, step in enumerate(STEP * np.eye(6)):
        change = camera.moved(step, result.centre).pose() - camera.pose()
        change[3:] = (change[3:] + np.pi) % (2 * np.pi) - np.pi
        slope[:, k] = change / STEP
    covariance = slope @ result.covariance[own, own] @ slope.T
    open_ = np.abs(slope @ result.loose[own]).max(1, initial=0.0) > OPEN
    return [None if o else float(e)
            for e, o in zip(np.sqrt(np.maximum(np.diag(covariance), 0.0)), open_)]


def _directions(result, number):
    """Return words for the directions of a camera's pose that the markers leave open."""
    out, own = [], result.loose[6 * number:6 * number + 6]
    for turn, move in zip(own[:3].T, own[3:].T):
        angle, length = np.linalg.norm(turn), np.linalg.norm(move)
        if max(angle, length) < OPEN:
            continue
        if angle > OPEN * length:
            axis = turn / angle
            # The point of the axis nearest to the centre stays where it is.
            place = result.centre + np.cross(axis, move) / angle
            out.append('a turn about the axis ' + _three(axis) + ' through ' + _three(place))
        else:
            out.append('a shift along ' + _three(move / length))
    return out


def _three(x):
    return '[' + ', '.join(f'{v:.3f}' for v in np.asarray(x) + 0.0) + ']'
