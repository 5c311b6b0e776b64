"""The page that shows a Design: curves against limits, singular values and the moving arm."""

import html
import json
from typing import Any

import numpy as np

from .page_template import TEMPLATE
from .regressor_adjoint import Chain, TreePass

FRAMES = 401  # of one period


def page(design: Any) -> str:
    """Return a self-contained HTML document about a Design ``design``."""
    data = json.dumps(page_data(design), separators=(',', ':')).replace('<', '\\u003c')
    title = html.escape(f'Excitation of {design.robot.name}')
    return (TEMPLATE.replace('@TITLE@', title).replace('@TABLE@', _table(design))
            .replace('@NOTICES@', _notices(design)).replace('@DATA@', data))


def page_data(design: Any) -> dict[str, Any]:
    """Return what the page of ``design`` draws, as plain values; lengths [m], times [s]."""
    motion, limits, robot = design.motion, design.limits, design.robot
    t = np.linspace(0.0, motion.period, FRAMES)
    q, v, a = motion.at(t)
    tree = TreePass(Chain.of(robot), q.T, v.T, a.T, design.gravities[0])
    plots = [
        _plot('position [rad, m]', q, limits.lower, limits.upper),
        _plot('velocity [rad/s, m/s]', v, -limits.velocity, limits.velocity),
        _plot('acceleration [rad/s², m/s²]', a, -limits.acceleration, limits.acceleration)]
    for k, gravity in enumerate(design.gravities):
        name = f'mounting {k + 1}, ' if len(design.gravities) > 1 else ''
        plots.append(_plot(f'{name}torque of the nominal model without friction [N m, N]',
                           _torques(robot, q, v, a, gravity), -limits.effort, limits.effort))
    body, offset = design.tool
    tool = tree.p[:, body] + np.einsum('xkb,k->xb', tree.R[:, :, body], offset)
    points = np.concatenate([np.zeros((3, 1, FRAMES)), tree.p, tool[:, None]], axis=1)
    links = [[parent + 1, i + 1] for i, parent in enumerate(robot.parents)]
    box = limits.box.tolist() if np.isfinite(limits.box).all() else None
    return {'t': _short(t), 'joints': list(robot.joint_names), 'plots': plots,
            'points': _short(points.transpose(2, 1, 0)),
            'links': links + [[body + 1, len(robot) + 1]],
            'gravity': _short(design.gravities[0]), 'box': box, 'sphere': limits.sphere,
            'singular': [float(f'{s:.5g}') for s in design.singular_values]}


def _plot(title, values, lower, upper):
    share = [[float(x) if np.isfinite(x) else None for x in limit] for limit in (lower, upper)]
    return {'title': title, 'y': _short(values.T), 'lower': share[0], 'upper': share[1]}


def _torques(robot, q, v, a, gravity):
    """Return the torques (N, n) of the nominal inertias: s_j' Y_i pi_i over the bodies moved."""
    chain = Chain.of(robot)
    tree = TreePass(chain, q.T, v.T, a.T, gravity)
    wrenches = np.einsum('xcnb,nc->xnb', tree.Y, robot.inertias)
    return np.einsum('xjb,xjb->bj', tree.s, chain.moves.T @ wrenches)


def _short(array):
    return np.round(np.asarray(array, dtype=float), 4).tolist()


def _table(design):
    use, names = design.use, design.motion.joint_names
    left = {kind: 1.0 - share for kind, share in design.limits.margins.items()}
    head = ''.join(f'<th scope="col">{html.escape(kind.replace("_", " "))}</th>'
                   for kind in use.joints) + '<th scope="col">standard error of torque</th>'
    rows = [f'<tr><th scope="row">{html.escape(name)}</th>' + ''.join(
        f'<td>{100.0 * left.get(kind, 1.0) * values[j]:.1f} %</td>'
        for kind, values in use.joints.items())
        + f'<td>{error}</td></tr>' for j, (name, error) in enumerate(zip(names, design.errors()))]
    facts = [f'condition number of the weighted base regressor {design.condition_number:.4g}',
             *([] if design.criterion == 'condition_number' else
               [f'{html.escape(design.criterion.replace("_", "-"))} {design.value:.4g}']),
             f'{len(design.base_names)} base parameters',
             f'period {design.motion.period:g} s, {design.motion.harmonics} harmonics',
             'standard errors of torque: predicted, root mean square over the workspace']
    if np.isfinite(use.tool_outside):
        facts.append(f'end effector inside its bounds by {-1000.0 * use.tool_outside:.1f} mm')
    if np.isfinite(use.gap):
        apart = 1000.0 * (use.gap + design.options.distance)  # [mm]
        facts.append(f'links at least {apart:.1f} mm apart, but for those built nearer')
    return (f"<p>{' · '.join(facts)}</p><table><caption>Share of each limit used</caption>"
            f'<thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>')


def _notices(design):
    return ''.join(f'<p class="notice">{html.escape(text)}</p>' for text in design.notices)
