"""The pictures of the demo stores, drawn by the project as SVG text, and their rendering.

`svg` has the primitives, `scenes` the compositions (studio, flat lay, room); each other module has the drawings of some products.
No drawing contains text, so that fonts of the machine don't change the pictures.
"""
