import argparse, time, json, sys
import numpy as np, torch, torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel
p=argparse.ArgumentParser()
for k,v in dict(seed=0,steps=4000,batch=64,d=64,heads=8,vocab=64,n=48,lr=3e-3,wd=0.1,lasso=0.0,warm=100,std=0.02,threads=1,minseg=6).items():
    p.add_argument('--'+k,type=type(v),default=v)
p.add_argument('--lassofrom',type=int,default=0);p.add_argument('--maxseg',type=int,default=16);p.add_argument('--tied',type=int,default=0);p.add_argument('--iid',type=int,default=0);p.add_argument('--freqs',type=int,default=12);p.add_argument('--amp',type=float,default=0.1);p.add_argument('--emb',type=float,default=0.1);p.add_argument('--out',default='')
p.add_argument('--copyloss',type=float,default=0)
a=p.parse_args()
torch.set_num_threads(a.threads); torch.manual_seed(a.seed)
dev='cuda' if torch.cuda.is_available() else 'cpu'
g=torch.Generator().manual_seed(a.seed+1)
def batch(b,g):
    V=a.vocab; t=torch.arange(a.n)
    perm=torch.rand(b,V,generator=g).argsort(1)
    # second part: at each place a new segment starts after a random length
    tail=a.n-V
    lens=a.minseg+torch.randint(a.maxseg-a.minseg+1,(b,tail//a.minseg+1),generator=g)
    ends=lens.cumsum(1)
    pos=torch.arange(tail)[None].expand(b,tail).contiguous()
    k=torch.searchsorted(ends,pos,right=True)
    begin=torch.where(k>0,ends.gather(1,(k-1).clamp(min=0)),0)
    ln=lens.gather(1,k)
    u=torch.rand(b,lens.shape[1],generator=g).gather(1,k)
    start=(u*(V-ln+1)).long()
    src=start+pos-begin
    x=torch.cat([perm,perm.gather(1,src)],1)
    c=torch.cat([torch.zeros(b,V,dtype=torch.bool),pos>begin],1)
    # every earlier occurrence of the token before must have the same successor
    same=(x[:,:-1,None]==x[:,None,:-1]).tril(-1)   # [b,t,u]: x_t==x_u,u<t
    wrong=same&(x[:,1:,None]!=x[:,None,1:])
    c[:,1:]&=~wrong.any(2)
    return x.to(dev),c.to(dev)
cfg=GPT2Config(vocab_size=a.vocab,n_positions=a.n,n_embd=a.d,n_layer=2,n_head=a.heads,n_inner=4,resid_pdrop=0,embd_pdrop=0,attn_pdrop=0,bos_token_id=None,eos_token_id=None,initializer_range=a.std,tie_word_embeddings=bool(a.tied),attn_implementation='eager')
m=GPT2LMHeadModel(cfg).to(dev)
for b in m.transformer.h:
    for t in list(b.mlp.parameters())+list(b.ln_2.parameters()):
        t.requires_grad_(False)
    for t in b.mlp.parameters(): t.data.zero_()
with torch.no_grad():
    m.transformer.wte.weight.normal_(0,a.emb)
    per=torch.logspace(np.log10(3.),np.log10(2.*a.n),a.freqs)
    ang=2*np.pi*torch.arange(a.n)[:,None]/per[None]
    tab=torch.cat([ang.sin(),ang.cos()],1)
    if not a.tied: m.lm_head.weight.normal_(0,a.emb)
    Q=torch.linalg.qr(torch.randn(a.d,a.d))[0][:,:2*a.freqs]
    m.transformer.wpe.weight.copy_(a.amp*(a.d/a.freqs)**0.5*(tab@Q.T))
dec=[t for k,t in m.named_parameters() if t.requires_grad and t.ndim==2]
nod=[t for k,t in m.named_parameters() if t.requires_grad and t.ndim<2]
opt=torch.optim.AdamW([dict(params=dec,weight_decay=a.wd),dict(params=nod,weight_decay=0)],lr=a.lr,betas=(0.9,0.98))
sch=torch.optim.lr_scheduler.LambdaLR(opt,lambda s:min(1,(s+1)/a.warm)*max(0.02,1-s/a.steps))
h=a.d//a.heads
def losses(x,c):
    lg=m(x).logits[:,:-1]; y=x[:,1:]
    l=F.cross_entropy(lg.reshape(-1,a.vocab),y.reshape(-1),reduction='none').view(y.shape)
    c=c[:,1:]
    return l,c,(lg.argmax(-1)==y)
t0=time.time()
for s in range(a.steps):
    x,c=batch(a.batch,g)
    l,c,ok=losses(x,c)
    loss=l.mean() if not a.copyloss else (l[c].mean() if a.copyloss==1 else l[c].mean()*a.copyloss+l[~c].mean()*(1-a.copyloss))
    if a.lasso and s>=a.lassofrom:
        pen=sum((b.attn.c_proj.weight.view(a.heads,h,a.d).square().sum((1,2))+b.attn.c_attn.weight[:,2*a.d:].view(a.d,a.heads,h).square().sum((0,2))+1e-8).sqrt().sum() for b in m.transformer.h)
        loss=loss+a.lasso*pen
    opt.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_norm_(dec+nod,1.0)
    opt.step(); sch.step()
    if s%500==499: print(s+1,round(time.time()-t0),f'all {l.mean():.3f} copied {l[c].mean():.3f} acc {ok[c].float().mean():.3f}',flush=True)
m.eval(); torch.set_grad_enabled(False)
eg=torch.Generator().manual_seed(12345)
x,c=batch(1000,eg)
def ev():
    l,cc,ok=losses(x,c); return l[cc].mean().item(),ok[cc].float().mean().item()
b0=ev(); print('base',b0)
half=a.n//2
r=torch.rand(500,a.vocab,generator=eg).argsort(1)[:,:half].repeat(1,2).to(dev)
att=m(r,output_attentions=True).attentions
res=[]
for L in range(2):
    W=m.transformer.h[L].attn.c_proj.weight
    for H in range(a.heads):
        A=att[L][:,H]
        prev=A.diagonal(-1,1,2).mean().item(); idn=A.diagonal(0,1,2).mean().item()
        dup=A.diagonal(-half,1,2).mean().item(); ind=A.diagonal(-half+1,1,2)[:,1:].mean().item()
        sv=W[H*h:(H+1)*h].clone(); W[H*h:(H+1)*h]=0; e=ev(); W[H*h:(H+1)*h]=sv
        res.append((L,H,prev,idn,dup,ind,e[0]-b0[0],b0[1]-e[1],sv.norm().item()))
        print('L%dH%d prev %.2f id %.2f dup %.2f ind %.2f dloss %.3f dacc %.3f |O| %.2f'%res[-1])
sd={k:v.double().cpu().numpy() for k,v in m.state_dict().items()}
def heads(L):
    pre=f'transformer.h.{L}.'
    gain=sd[pre+'ln_1.weight']; W=sd[pre+'attn.c_attn.weight']*gain[:,None]; W=W-W.mean(0)
    O=sd[pre+'attn.c_proj.weight']; O=O-O.mean(1,keepdims=True)
    out=[]
    for H in range(a.heads):
        q,k,v=[W[:,j*a.d+H*h:j*a.d+(H+1)*h] for j in range(3)]
        out.append((q,k,v,O[H*h:(H+1)*h].T))
    return out
h0,h1=heads(0),heads(1)
qr=lambda A:np.linalg.qr(A)[0]
for role,ri in (('OQ',0),('OK',1),('OV',2)):
    pk=np.array([[np.sum((qr(s[3]).T@qr(t[ri]))**2) for t in h1] for s in h0])
    def cs(s,t):
        Wm=s[3]@s[2].T; R={0:t[0]@t[1].T,1:t[1]@t[0].T,2:t[2]@t[3].T}[ri]
        R=R.T if False else R
        # reader outer factor first: rows contract with O
        return np.linalg.norm(R.T@Wm)/np.linalg.norm(R)/np.linalg.norm(Wm)
    c_=np.array([[cs(s,t) for t in h1] for s in h0])
    for nm,M in (('pk',pk),('cs',c_)):
        o=np.argsort(-M.ravel())[:6]
        print(role,nm,'med %.2f'%np.median(M),' '.join(f'0.{i//a.heads}>1.{i%a.heads}:{M.ravel()[i]:.2f}' for i in o))
pk=np.array([[np.sum((qr(s[3]).T@qr(t[1]))**2) for t in h1] for s in h0])
top=max(res[:a.heads],key=lambda r:r[6]); second=sorted(r[6] for r in res)[-2]
indu=[r[1] for r in res[a.heads:] if r[5]>0.4]
o=np.argsort(-pk.ravel())[:len(indu)]
hits=sum(i//a.heads==top[1] and i%a.heads in indu for i in o)
print('SUMMARY',' '.join(sys.argv[1:]),'| acc %.3f loss %.3f top 0.%d prev %.2f dl %.2f da %.2f next dl %.2f'%(b0[1],b0[0],top[1],top[2],top[6],top[7],second),'ind',indu,'hits',hits,'pk',np.sort(pk.ravel())[::-1][:10].round(1).tolist(),'med',np.median(pk).round(2))
print('time',time.time()-t0)
