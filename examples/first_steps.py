"""
First steps: from a bag to torques, with the public API alone.

    python examples/first_steps.py BAG [OTHER_BAG]

``inertial-id demo`` makes demo/recording and demo/second_recording, which are taken by default.
The cells (# %%) run one by one in VS Code, Spyder and Jupyter (jupytext).
"""

# %% A recording, and what is in it
import sys

import numpy as np

import ros_inertial_id as rid

bag, other_bag = sys.argv[1:3] + ['demo/recording', 'demo/second_recording'][len(sys.argv) - 1 :]
recording, other = rid.read_bag(bag), rid.read_bag(other_bag)
for topic, channel in recording.channels.items():
    print(f'{topic}: {len(channel)} messages of {channel.type}')

# %% Identify; physically consistent, so that the result can be written as a URDF
result = rid.identify(recording, validate=other, consistent=True)
model = result.model
print(result.summary())

# %% The base parameters, with standard errors (notebooks show a table)
print(model.base_parameters)

# %% Measured and predicted torque of the other recording
prediction = model.predict(other)
for name, residual, measured in zip(
    prediction.names, prediction.residual.T, prediction.measured.T
):
    share = np.linalg.norm(residual) / np.linalg.norm(measured)
    print(f'{name}: RMS residual {np.sqrt(np.mean(residual**2)):.4f} N m, {100 * share:.2f} %')

# %% Torque at any position, velocity, acceleration
n = len(model.joint_names)
rng = np.random.default_rng(0)
q, v, a = rng.uniform(-1.0, 1.0, (3, 100, n))
tau = model.torque(q, v, a)
print('largest torque [N m]:', np.abs(tau).max(axis=0).round(2))

# %% Gravity torque against pinocchio on the written URDF
import pinocchio as pin  # noqa: E402

not_held = model.to_urdf('identified.urdf')
print('a URDF cannot hold:', *(not_held or ['nothing that was identified']), sep='\n  ')
robot = pin.buildModelFromUrdf('identified.urdf')
data = robot.createData()
robot.gravity.linear = model.gravity_base
difference = [pin.computeGeneralizedGravity(robot, data, x) - model.gravity(x) for x in q]
urdf_difference = np.abs(difference).max()
print(f'gravity torque, pinocchio on the URDF: within {urdf_difference:.1e} N m')

# %% Gravity torque against MuJoCo on the written MJCF
try:
    import mujoco  # noqa: E402
except ImportError:
    print('pip install mujoco to compare with it')
else:
    written = model.export('mujoco', 'identified.xml')
    print(written)
    arm = mujoco.MjModel.from_xml_path('identified.xml')
    state = mujoco.MjData(arm)
    difference = []
    for x in q:
        state.qpos[:] = x
        mujoco.mj_forward(arm, state)
        difference.append(state.qfrc_bias - written.model.gravity(x))
    mjcf_difference = np.abs(difference).max()
    print(f'gravity torque, MuJoCo on the MJCF: within {mjcf_difference:.1e} N m')

# %% Report and model file
result.report('report.html')
model.save('model.yaml')
print('written: report.html, model.yaml, identified.urdf, identified.xml')
assert np.array_equal(rid.load_model('model.yaml').torque(q, v, a), tau)
