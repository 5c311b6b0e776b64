"""Build ros_inertial_id with colcon (ament_python) or pip."""

from glob import glob

from setuptools import find_packages, setup

NAME = 'ros_inertial_id'
MESSAGES = (
    'std-msgs',
    'std-srvs',
    'sensor-msgs',
    'geometry-msgs',
    'trajectory-msgs',
    'diagnostic-msgs',
    'visualization-msgs',
)


def ros(distribution):
    """Return the wheels of a ROS 2 distribution, by the names that pin it."""
    return [f'ros-{distribution}-rclpy[fastrtps]'] + [f'ros-{distribution}-{m}' for m in MESSAGES]


setup(
    name=NAME,
    version='0.2.0',
    description='Identify the inertial parameters of live robots (ROS 2)',
    license='Apache-2.0',
    author='ros_inertial_id maintainers',
    maintainer='ros_inertial_id maintainers',
    maintainer_email='maintainers@ros-inertial-id.org',
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed'], f'{NAME}.report': ['*.html', '*.css', '*.js']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml', 'LICENSE']),
        (f'share/{NAME}/launch', glob('launch/*.launch.py')),
        (f'share/{NAME}/config', glob('config/*.*')),
        (f'share/{NAME}/config/drives', glob('config/drives/*.yaml')),
        (f'share/{NAME}/urdf', glob('urdf/*')),
        (f'share/{NAME}/examples/controller', glob('examples/controller/*.*')),
        # ros2 run and launch look here, after colcon and after pip alike.
        (f'lib/{NAME}', glob('scripts/*')),
    ],
    install_requires=[
        'setuptools',
        'numpy>=1.26',
        'scipy>=1.11',
        'pin>=4.0',
        'coal',
        'pyyaml',
        'mcap',
        'pandas',
        'rosbags>=0.11.9',
        'platformdirs',
        'threadpoolctl',
        'rich',
        'jinja2',
        'shtab>=1.9',
    ],
    extras_require={
        'ros': ros('jazzy'),
        'ros-kilted': ros('kilted'),
        'sim': ['mujoco>=3.2'],
        'cluster': ['distributed'],
        'logs': ['pyarrow', 'h5py'],
        'plot': ['matplotlib'],
        'usd': ['usd-core'],
        'test': [
            'pytest>=7',
            'pytest-timeout',
            'pytest-xdist',
            'hypothesis',
            'jsonschema',
            'mujoco>=3.2',
            'pyarrow',
            'h5py',
            'flake8',
            'mypy',
            'ruff==0.17.6',  # as .pre-commit-config.yaml: another version formats otherwise
            'axe-core-python',
            'matplotlib',
        ],
        'doc': ['sphinx', 'myst-parser', 'furo'],
    },
    entry_points={
        'console_scripts': [f'inertial-id = {NAME}.cli.main:main'],
        # See plugins.py: other packages register theirs in the same groups.
        f'{NAME}.methods': [
            f'serial_arm = {NAME}.methods.serial_arm:SerialArm',
            f'closed_loop = {NAME}.rigs.closed_loop.method:ClosedLoop',
            f'rigid_body = {NAME}.rigs.rigid_body.method:RigidBody',
            f'floating_base = {NAME}.rigs.floating_base.method:FloatingBase',
            f'suspended_platform = {NAME}.rigs.suspended_platform.method:SuspendedPlatform',
        ],
        f'{NAME}.verbs': [f'rigs = {NAME}.rigs.cli.arguments:VERBS'],
        f'{NAME}.simulated_rigs': [
            f'slider_crank = {NAME}.demonstration.simulated_rigs.slider_crank:SliderCrank',
            f'quadruped = {NAME}.demonstration.simulated_rigs.quadruped:Quadruped',
            f'wrist_sensor = {NAME}.demonstration.simulated_rigs.wrist_sensor:WristRig',
        ],
    },
    zip_safe=True,
)
