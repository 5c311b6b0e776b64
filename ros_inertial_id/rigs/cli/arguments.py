"""The verbs for rigs, registered by an entry point; needs the standard library alone."""

from ...cli.arguments import argument, config, DRIVES, EMPTY, loaded, out, several, Verb

WORLD = argument(
    '--mounting', 'how the world of the markers stands: upright (default); "gravity X Y Z"; ...'
)
RIG = argument('rig', 'description of the rig, a YAML')
VERBS = {
    'calibrate': Verb(
        DRIVES,
        'find the springs of a suspended platform from free vibrations',
        'rig.yaml --empty bag1 --loaded bag2 "5 0.3 0 0.1" --out known_rig.yaml',
        f'{__package__}.verbs:calibrate',
        (
            RIG,
            config('suspended_platform'),
            WORLD,
            EMPTY,
            loaded("in the platform's frame"),
            out("description to write: the rig's, calibrated", 'calibrated.yaml'),
        ),
    ),
    'postures': Verb(
        DRIVES,
        'find link parameters from free vibrations in held postures',
        'known_rig.yaml --held bag3 --held bag4',
        f'{__package__}.verbs:postures',
        (
            RIG,
            config('suspended_platform'),
            WORLD,
            several(
                '--held',
                'free vibration on the calibrated rig with the links held in a posture',
                metavar='BAG',
            ),
        ),
    ),
}
