from .operating import operating as operating, operating_characteristics as operating_characteristics
