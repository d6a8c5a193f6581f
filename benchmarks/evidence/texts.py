"""What the models of the evidence page read: a few texts each, written or composed for it."""

from __future__ import annotations

PROSE = [
    "The lighthouse keeper counted the steps every morning. There were one hundred and twelve of them, and he knew "
    "which "
    "ones were loose. At the top he wiped the salt from the glass, checked the oil, and wrote the weather into a book "
    "that nobody had asked for in nine years. When the storm came, the book was the first thing that he carried down.",
    "Mary and John went to the market on Saturday. Mary bought a melon, and John bought a basket of plums. On the way "
    "home John gave the plums to Mary, because the basket was too heavy for him, and Mary gave the melon to a neighbor "
    "who had lent them a ladder in the spring.",
    "To replace a fuse, switch off the main supply first. Open the box, find the fuse with the broken wire, and pull "
    "it "
    "straight out. Compare the number on its side with the number on the new one: they must be equal. Push the new "
    "fuse "
    "in until it clicks, close the box, and switch the main supply on again.",
    "The village has two bakeries. The older one opens at five, sells dark bread, and closes when the bread is gone. "
    "The "
    "newer one opens at eight, sells white bread and cakes, and closes at six. Most people buy dark bread on "
    "weekdays and "
    "cakes on Sundays, so both bakeries do well.",
]

REACTIONS = [
    "CC(=O)Cl.OCC>>CCOC(C)=O",
    "Brc1ccccc1.OB(O)c1ccccc1.O=C([O-])[O-].[K+].[K+]>>c1ccc(-c2ccccc2)cc1",
    "CC(=O)O.NCc1ccccc1>>CC(=O)NCc1ccccc1",
    "O=Cc1ccccc1.[BH4-].[Na+]>>OCc1ccccc1",
]

ANTIBODIES = [
    "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMNSLRAEDTAVYYCAK",
    "QVQLVQSGAEVKKPGASVKVSCKASGYTFTSYYMHWVRQAPGQGLEWMGIINPSGGSTSYAQKFQGRVTMTRDTSTSTVYMELSSLRSEDTAVYYCAR",
    "DIQMTQSPSSLSASVGDRVTITCRASQSISSYLNWYQQKPGKAPKLLIYAASSLQSGVPSRFSGSGSGTDFTLTISSLQPEDFATYYCQQSYSTP",
    "QVQLQESGPGLVKPSETLSLTCTVSGGSISSYYWSWIRQPPGKGLEWIGYIYYSGSTNYNPSLKSRVTISVDTSKNQFSLKLSSVTAADTAVYYCAR",
]

TEXTS = {"smollm2": PROSE, "minilm": PROSE, "rxnfp": REACTIONS, "antiberty": ANTIBODIES}
